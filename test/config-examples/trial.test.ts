import { readFileSync } from 'node:fs';
import { readConfig } from '../../plugin/config/load';
import { configFile, EXAMPLES, exampleEnvironment } from '../fixtures/examples';
import { trialConfig } from '../fixtures/trial-config';

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
