import { readdirSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { EXAMPLES, exampleEnvironment, loadInstance } from '../fixtures/examples';
import { command } from '../fixtures/lab/command';
import type { Host } from '../fixtures/lab/host';
import { Lab } from '../fixtures/lab/lab';
import { describeWith } from '../fixtures/needs';

// A busy machine takes its time to make namespaces and start programs.
jest.setTimeout(60_000);

const OPTIONS = (to: string): string =>
  [
    `OPTIONS sip:${to} SIP/2.0`,
    'Via: SIP/2.0/UDP 198.51.100.99:5099;rport;branch=z9hG4bK-start',
    'From: <sip:probe@example.com>;tag=1',
    `To: <sip:${to}>`,
    'Call-ID: start@example.com',
    'CSeq: 1 OPTIONS',
    'Max-Forwards: 70',
    'Content-Length: 0',
    '',
    '',
  ].join('\r\n');

describeWith(['netns', 'drachtio'], 'a real drachtio-server', () => {
  let lab: Lab;
  let server: Host;
  let folder: string;

  beforeEach(async () => {
    folder = await mkdtemp(path.join(tmpdir(), 'dsbc-examples-'));
    lab = await Lab.create();
    const lan = await lab.network('lan');
    server = await lab.host('server');
    await lan.attach(server, { addresses: ['198.51.100.2/24', '2001:db8:100::2/64'] });
    // The VIP is somebody else's, as on a standby.
    await server.sysctl({ 'net.ipv4.ip_nonlocal_bind': 1, 'net.ipv6.ip_nonlocal_bind': 1 });
  });

  afterEach(async () => {
    await lab.close();
    await rm(folder, { recursive: true });
  });

  /** The TLS files of all-transports, self-signed. */
  const certificate = async (text: string): Promise<string> => {
    const file = path.join(folder, 'key.pem');
    await command('openssl', [
      ...['req', '-x509', '-newkey', 'rsa:2048', '-nodes', '-days', '2', '-subj', '/CN=example.com'],
      ...['-keyout', file, '-out', path.join(folder, 'cert.pem')],
    ]);
    await writeFile(path.join(folder, 'chain.pem'), await readFile(path.join(folder, 'cert.pem')));
    return text.replaceAll('/etc/dsbc/tls/', `${folder}/`);
  };

  /** Its UDP socket is there; the control port would listen sooner. */
  const bound = async (): Promise<void> => {
    for (;;) {
      const { stdout } = await server.run('ss', ['-Hlun']);
      if (stdout.includes(':5060')) return;
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };

  it.each(EXAMPLES.map((example) => [example.name, example] as const))(
    'starts with each configuration of %s before its machine owns the address, and answers once it does',
    async (_name, example) => {
      const configs = await Promise.all(example.instances.map((instance) => loadInstance(example, instance)));
      for (const name of readdirSync(path.join(example.folder, 'drachtio'))) {
        const text = await readFile(path.join(example.folder, 'drachtio', name), 'utf8');
        const file = path.join(folder, name);
        await writeFile(file, text.includes('<tls>') ? await certificate(text) : text);
        const drachtio = server.start(process.env['DRACHTIO_BIN']!, ['-f', file], {
          env: exampleEnvironment(),
        });
        const { address } = configs
          .flatMap(({ sip_servers }) => sip_servers)
          .find((each) => `${each.name}.conf.xml` === name)!.entry;
        await bound();
        expect(await server.holds(address)).toBe(false);
        const own = `${address}/${address.includes(':') ? 128 : 32}`;
        await server.ip(`address add ${own} dev lo`);
        const probe = await server.udp(address.includes(':') ? '2001:db8:100::2' : '198.51.100.2', 5099);
        const answered = new Promise<string>((resolve) =>
          probe.once('message', (message) => resolve(message.toString().split('\r\n')[0]!)),
        );
        const host = address.includes(':') ? `[${address}]` : address;
        const again = setInterval(() => probe.send(OPTIONS(host), 5060, address), 200);
        // No application is connected, so it refuses by itself.
        expect(await answered).toBe('SIP/2.0 503 Service Unavailable');
        clearInterval(again);
        probe.close();
        expect(drachtio.running).toBe(true);
        await drachtio.stop();
        await server.ip(`address del ${own} dev lo`);
      }
    },
  );
});
