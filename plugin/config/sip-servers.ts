import { z } from 'zod';
import { host, milliseconds, name, ownAddress, port, secret } from './values';

/** The two transports that share the entry's `port`. */
export const ENTRY_TRANSPORTS = ['udp', 'tcp'] as const;

const entry = z
  .strictObject({
    address: ownAddress.describe('The VIP, or an alias of it, that phones and vendors send to.'),
    port: port.default(5060).describe('Port for UDP and TCP.'),
    transports: z
      .array(z.enum(ENTRY_TRANSPORTS))
      .min(1, 'at least one of udp, tcp')
      .refine((list) => new Set(list).size === list.length, 'each transport once')
      .default(['udp', 'tcp'])
      .describe('What is served on `port`.'),
    tls_port: port.optional().describe('Port for TLS, if it is served (usually 5061).'),
    ws_port: port.optional().describe('Port for WebSocket, if it is served.'),
    wss_port: port.optional().describe('Port for secure WebSocket, if it is served.'),
  })
  .describe('The entry address this SIP server is bound to.');

const control = z
  .strictObject({
    host: host.default('127.0.0.1').describe("Where drachtio-server's control port is."),
    port: port.default(9022).describe('Control port.'),
    secret: secret(1).describe('Shared secret of drachtio.conf.xml.'),
    tls: z.boolean().default(false).describe('Control connection over TLS; a reconnect stays TLS.'),
    ca_file: z.string().min(1).optional().describe('PEM file with the CA of the control connection.'),
    capture_port: port
      .optional()
      .describe(
        'UDP port on 127.0.0.1 where this server sends copies of its SIP messages (`--homer 127.0.0.1:PORT --homer-id 1`): from them the DSBC learns of a CANCEL that drachtio-server tells nobody.',
      ),
    request_timeout_ms: milliseconds(100, 60_000)
      .default(5000)
      .describe('A command without an answer for so long has failed.'),
    ping_interval_ms: milliseconds(100, 60_000)
      .default(5000)
      .describe('Time between pings on the connection.'),
    ping_timeout_ms: milliseconds(100, 60_000)
      .default(2000)
      .describe('No pong for so long: the connection is lost and made anew.'),
    reconnect_max_ms: milliseconds(50, 60_000)
      .default(1000)
      .describe('Longest pause between two attempts to connect.'),
  })
  .describe(
    'How to reach the control port of drachtio-server. Not used in an application, whose `srf` is connected already.',
  );

const embeddedServer = z.strictObject({
  name: name.describe('Name in logs, metrics and API.'),
  server: z.literal('embedded').describe('The SIP server inside this process: for tests and first steps.'),
  entry,
});

const drachtioServer = z.strictObject({
  name: name.describe('Name in logs, metrics and API.'),
  server: z.literal('drachtio').describe('A drachtio-server process, reached over its control port.'),
  entry,
  control,
});

export const sipServers = z
  .array(z.discriminatedUnion('server', [embeddedServer, drachtioServer]))
  .min(1, 'at least one SIP server')
  .describe('One per entry address: the VIP, and each alias of it.');
