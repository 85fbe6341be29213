import { z } from 'zod';
import { count, host, ipAddress, listenPort, milliseconds, port, secret } from './values';

export const LOG_LEVELS = ['debug', 'info', 'warn', 'error'] as const;
export const SYSLOG_PROTOCOLS = ['udp', 'tcp', 'tls'] as const;
/** RFC 5424 table 1; the ones a program may sensibly use. */
export const SYSLOG_FACILITIES = [
  'user',
  'daemon',
  'local0',
  'local1',
  'local2',
  'local3',
  'local4',
  'local5',
  'local6',
  'local7',
] as const;
export const HOOK_ON_ERROR = ['skip', 'fail'] as const;

export const admin = z
  .strictObject({
    enabled: z
      .boolean()
      .default(true)
      .describe('`dsbc run` serves the admin API and the page; an application calls `serveAdmin`.'),
    address: ipAddress
      .default('127.0.0.1')
      .describe('Address to listen on. Not loopback: `token` is required.'),
    port: listenPort.default(8090).describe('Port to listen on; 0: the kernel chooses.'),
    token: secret(16).optional().describe('Bearer token. Absent: no token, which only loopback allows.'),
    cert_file: z.string().min(1).optional().describe('PEM certificate: the API is served over HTTPS.'),
    key_file: z.string().min(1).optional().describe('PEM key of the certificate.'),
  })
  .prefault({})
  .describe('The admin API.');

const syslog = z.strictObject({
  host: host.describe('The LogServer.'),
  port: port.optional().describe('Default: 514 for UDP, 601 for TCP, 6514 for TLS.'),
  protocol: z
    .enum(SYSLOG_PROTOCOLS)
    .default('udp')
    .describe('RFC 5426, RFC 6587 (octet counting) or RFC 5425.'),
  facility: z.enum(SYSLOG_FACILITIES).default('local0').describe('RFC 5424 facility.'),
  app_name: z
    .string()
    .regex(/^[\x21-\x7e]{1,48}$/, '1 to 48 printable characters')
    .default('dsbc')
    .describe('APP-NAME.'),
  buffer_lines: count(100, 1_000_000)
    .default(10_000)
    .describe('Lines kept while it is away; more are dropped and counted.'),
  ca_file: z.string().min(1).optional().describe('PEM file with the CA, for TLS.'),
});

export const log = z
  .strictObject({
    level: z.enum(LOG_LEVELS).default('info').describe('Least severity that is written.'),
    mask_numbers: z.boolean().default(false).describe('Show only the first and last two digits of numbers.'),
    syslog: syslog.optional().describe('Also send to a LogServer; losing it never slows a call.'),
  })
  .prefault({})
  .describe('One line of JSON per event on stdout.');

export const hooks = z
  .strictObject({
    timeout_ms: milliseconds(1, 10_000).default(200).describe('Time limit of each hook.'),
    on_error: z
      .enum(HOOK_ON_ERROR)
      .default('skip')
      .describe('A hook that throws or is late: go on without it, or answer 500.'),
  })
  .prefault({})
  .describe('Routing hooks.');
