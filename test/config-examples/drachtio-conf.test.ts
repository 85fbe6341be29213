import { XMLParser, XMLValidator } from 'fast-xml-parser';
import { readdirSync, readFileSync } from 'node:fs';
import path from 'node:path';
import type { EntryConfig } from '../../plugin/config/types';
import { EXAMPLES, loadInstance, type Example } from '../fixtures/examples';

interface DrachtioConf {
  readonly drachtio: {
    readonly admin: { readonly '#text': string; readonly '@_port': string; readonly '@_secret': string };
    readonly sip: {
      readonly contacts: { readonly contact: readonly string[] };
      readonly 'udp-mtu': string;
      readonly tls?: Readonly<Record<string, string>>;
    };
  };
}

const parser = new XMLParser({
  ignoreAttributes: false,
  parseTagValue: false,
  isArray: (name) => name === 'contact',
});

function read(example: Example, name: string): DrachtioConf {
  const text = readFileSync(path.join(example.folder, 'drachtio', `${name}.conf.xml`), 'utf8');
  expect(XMLValidator.validate(text)).toBe(true);
  return parser.parse(text) as DrachtioConf;
}

/** The listeners that an entry of dsbc.yaml asks for, in drachtio-server's words. */
function contactsOf({ address, port, transports, tls_port, ws_port, wss_port }: EntryConfig): string[] {
  const host = address.includes(':') ? `[${address}]` : address;
  return [
    `sip:${host}:${port};transport=${transports.join(',')}`,
    ...(tls_port === undefined ? [] : [`sips:${host}:${tls_port};transport=tls`]),
    ...(ws_port === undefined ? [] : [`sip:${host}:${ws_port};transport=ws`]),
    ...(wss_port === undefined ? [] : [`sips:${host}:${wss_port};transport=wss`]),
  ];
}

describe.each(EXAMPLES.map((example) => [example.name, example] as const))('%s', (_name, example) => {
  it.each(example.instances)(
    '%s: each SIP server has a configuration with its address, ports and control port',
    async (instance) => {
      for (const server of (await loadInstance(example, instance)).sip_servers) {
        if (server.server !== 'drachtio') throw new Error(`${server.name} is not a drachtio-server`);
        const { admin, sip } = read(example, server.name).drachtio;
        expect([admin['#text'], Number(admin['@_port'])]).toEqual([server.control.host, server.control.port]);
        expect(sip.contacts.contact).toEqual(contactsOf(server.entry));
        const encrypted = server.entry.tls_port !== undefined || server.entry.wss_port !== undefined;
        expect(sip.tls !== undefined).toBe(encrypted);
      }
    },
  );

  it('has no secret in its files, and keeps the server from choosing TCP by itself', () => {
    for (const file of readdirSync(path.join(example.folder, 'drachtio'))) {
      const { admin, sip } = read(example, file.replace('.conf.xml', '')).drachtio;
      expect(admin['@_secret']).toBe('replaced-by-DRACHTIO_SECRET');
      expect(sip['udp-mtu']).toBe('65535');
    }
  });

  it('has no configuration that no instance uses', async () => {
    const configs = await Promise.all(example.instances.map((instance) => loadInstance(example, instance)));
    const used = new Set(
      configs.flatMap(({ sip_servers }) => sip_servers.map(({ name }) => `${name}.conf.xml`)),
    );
    expect(readdirSync(path.join(example.folder, 'drachtio')).sort()).toEqual([...used].sort());
  });
});
