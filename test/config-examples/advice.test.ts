import { readFileSync } from 'node:fs';
import path from 'node:path';
import { topologyAdvice } from '../../plugin/config/advice';
import { loadConfig } from '../../plugin/config/load';
import { isSecret } from '../../plugin/config/json-schema';
import { formatPath } from '../../plugin/config/problems';
import { secretAdvice } from '../../plugin/config/secret-advice';
import { textsIn } from '../../plugin/config/texts';
import type { Config } from '../../plugin/config/types';
import { environmentFile, EXAMPLES, EXAMPLES_DIR, loadInstance } from '../fixtures/examples';

const compose = path.join(EXAMPLES_DIR, 'compose');
const cases: readonly (readonly [string, string, () => Promise<Config[]>])[] = [
  ...EXAMPLES.map(
    (example) =>
      [
        example.name,
        example.folder,
        () => Promise.all(example.instances.map((instance) => loadInstance(example, instance))),
      ] as const,
  ),
  [
    'compose',
    compose,
    () =>
      Promise.all(
        ['dsbc-1', 'dsbc-2'].map((instance) =>
          loadConfig(
            path.join(compose, instance, 'dsbc.yaml'),
            environmentFile(path.join(compose, 'secrets.env')),
          ),
        ),
      ),
  ],
];

it.each(cases)(
  '%s: dsbc check advises exactly what the README explains, and warns only where it says so',
  async (_name, folder, load) => {
    const readme = readFileSync(path.join(folder, 'README.md'), 'utf8');
    const explained = /## What `dsbc check` says\n\n([^]*?)(?=\n## |$)/.exec(readme)?.[1] ?? '';
    const named = new Set([...explained.matchAll(/`([a-z]+(?:_[a-z]+)+)`/g)].map(([, code]) => code));
    for (const config of await load()) {
      const advice = topologyAdvice(config).filter(({ code }) => code !== 'public_addresses');
      expect(new Set(advice.map(({ code }) => code))).toEqual(named);
      expect(explained.startsWith('No warnings.')).toBe(!advice.some(({ level }) => level === 'warning'));
    }
  },
);

it.each(cases)('%s: dsbc check warns of every secret that the example ships with', async (_name, _, load) => {
  for (const config of await load()) {
    const secrets = [...textsIn(config)].filter(([path]) => isSecret(path)).map(([path]) => formatPath(path));
    expect(secrets).toContain('nat.keys[0].secret');
    expect(secretAdvice(config).map(({ path: at }) => at)).toEqual(secrets);
  }
});
