import { readFileSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createDsbc } from '../../plugin';
import { main } from '../../plugin/cli/main';
import { isLoopback, parseNodeUri } from '../../plugin/config/address';
import { loadConfig, readConfig } from '../../plugin/config/load';
import { silentLogger } from '../../plugin/telemetry/logger';
import { configFile, EXAMPLES, exampleEnvironment } from '../fixtures/examples';
import { RecordedIo } from '../fixtures/io';
import { loneTrialConfig, trialConfig } from '../fixtures/trial-config';

const everyInstance = EXAMPLES.flatMap((example) =>
  example.instances.map((instance) => [example.name, instance, configFile(example, instance)] as const),
);

it.each(everyInstance)(
  '%s/%s is valid without drachtio-server and Cassandra too',
  (_name, instance, file) => {
    const result = readConfig(trialConfig(readFileSync(file, 'utf8')), file, exampleEnvironment());
    if (!result.ok) throw new Error(result.problems.map(({ text }) => text).join('\n'));
    expect(result.config.instance).toBe(instance);
    expect(result.config.sip_servers.map(({ server }) => server)).not.toContain('drachtio');
    expect(result.config.registry.driver).toBe('lmdb');
  },
);

describe('an instance alone on one machine', () => {
  it.each(everyInstance)('%s/%s is valid, and needs no address but loopback', (_name, _instance, file) => {
    const result = readConfig(loneTrialConfig(readFileSync(file, 'utf8')), file, exampleEnvironment());
    if (!result.ok) throw new Error(result.problems.map(({ text }) => text).join('\n'));
    const { sip_servers, systems, ha } = result.config;
    expect(ha).toBeUndefined();
    for (const { entry } of sip_servers) expect(isLoopback(entry.address)).toBe(true);
    for (const { sites } of Object.values(systems))
      for (const { nodes } of Object.values(sites))
        for (const { uri } of nodes) expect(isLoopback(parseNodeUri(uri)?.host ?? '')).toBe(true);
  });

  it('passes dsbc check, whose only warnings are the secrets, and serves', async () => {
    const folder = await mkdtemp(join(tmpdir(), 'dsbc-trial-'));
    const file = join(folder, 'dsbc.yaml');
    const example = EXAMPLES.find(({ name }) => name === '70-30')!;
    const text = readFileSync(configFile(example, example.instances[0]!), 'utf8');
    // Other addresses and another port than the document's, so that nothing else on this machine has them.
    await writeFile(file, loneTrialConfig(text, '127.98.7').replace('port: 8090', 'port: 0'));
    const io = new RecordedIo();
    const before = { ...process.env };
    Object.assign(process.env, exampleEnvironment());
    try {
      expect(await main(['check', '-c', file, '--json'], io)).toBe(0);
    } finally {
      process.env = before;
    }
    const { advice } = JSON.parse(io.stdout) as { advice: { code: string; level: string }[] };
    const warnings = advice.filter(({ level }) => level === 'warning').map(({ code }) => code);
    expect(new Set(warnings)).toEqual(new Set(['secret_shipped']));
    const config = await loadConfig(file, exampleEnvironment());
    const dsbc = createDsbc({ config, logger: silentLogger });
    try {
      await dsbc.start();
      expect([dsbc.isReady, [...dsbc.servers.links.values()].map(({ state }) => state)]).toEqual([
        true,
        ['connected'],
      ]);
    } finally {
      await dsbc.stop();
      await rm(folder, { recursive: true });
    }
  });
});
