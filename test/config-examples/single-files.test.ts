import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { topologyAdvice } from '../../plugin/config/advice';
import { isLoopback, parseNodeUri } from '../../plugin/config/address';
import { loadConfig } from '../../plugin/config/load';
import { secretAdvice } from '../../plugin/config/secret-advice';
import { configuredShares, effectiveShares } from '../../plugin/routing/share';
import { EXAMPLES_DIR } from '../fixtures/examples';

const files = readdirSync(EXAMPLES_DIR).filter((file) => file.endsWith('.yaml'));

it('the examples in one file are these', () => {
  expect(files.sort()).toEqual([
    'embedded.yaml',
    'ip-aliases.yaml',
    'load-distribution-70-30.yaml',
    'three-sites-50-30-20.yaml',
  ]);
});

describe.each(files)('%s', (file) => {
  const path = join(EXAMPLES_DIR, file);

  it('loads without anything in the environment, and earns no warning', async () => {
    const config = await loadConfig(path, {});
    expect(topologyAdvice(config).filter(({ level }) => level === 'warning')).toEqual([]);
  });

  it('is told that its key is known to everybody', async () => {
    expect(secretAdvice(await loadConfig(path, {})).map(({ path: at }) => at)).toEqual([
      'nat.keys[0].secret',
    ]);
  });

  it('needs nothing but loopback, and says in its comments where the sites are', async () => {
    const config = await loadConfig(path, {});
    const comments = readFileSync(path, 'utf8')
      .split('\n')
      .filter((line) => line.startsWith('#'))
      .join('\n');
    for (const { entry } of config.sip_servers) expect(isLoopback(entry.address)).toBe(true);
    for (const system of Object.values(config.systems))
      for (const site of Object.values(system.sites))
        for (const { uri } of site.nodes) {
          const host = parseNodeUri(uri)?.host ?? '';
          expect(isLoopback(host)).toBe(true);
          expect(comments).toContain(host);
        }
  });
});

describe('the shares of the examples', () => {
  const sharesOf = async (file: string, out?: string) => {
    const config = await loadConfig(join(EXAMPLES_DIR, file), {});
    const { sites, load_distribution } = config.systems['source']!;
    const names = Object.keys(sites);
    const shares = effectiveShares(
      configuredShares(names, load_distribution),
      names.map((name) => name !== out),
    );
    return shares.map((share) => Math.round(share * 100));
  };

  it('are 70/30', async () => {
    expect(await sharesOf('load-distribution-70-30.yaml')).toEqual([70, 30]);
  });

  it('H16: are 50/30/20, 55/45 without the first, 65/35 without the second', async () => {
    expect(await sharesOf('three-sites-50-30-20.yaml')).toEqual([50, 30, 20]);
    expect(await sharesOf('three-sites-50-30-20.yaml', 'main')).toEqual([0, 55, 45]);
    expect(await sharesOf('three-sites-50-30-20.yaml', 'secondary-a')).toEqual([65, 0, 35]);
  });

  it('are equal where nothing is said', async () => {
    expect(await sharesOf('ip-aliases.yaml')).toEqual([50, 50]);
  });
});
