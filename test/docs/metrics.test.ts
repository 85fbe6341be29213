import { METRICS, metricsReference } from '../../plugin/telemetry/metric-table';
import { fillBlock, itIsCurrent } from '../fixtures/generated';
import { readdirSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

describe('the documented metrics', () => {
  itIsCurrent('docs/metrics.md', (before) => fillBlock(before, 'metrics', metricsReference()));

  it('are each set somewhere in the program', () => {
    const plugin = resolve(__dirname, '../../plugin');
    const source = readdirSync(plugin, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts') && !file.endsWith('metric-table.ts'))
      .map((file) => readFileSync(join(plugin, file), 'utf8'))
      .join('\n');
    for (const name of Object.keys(METRICS))
      expect([name, source.includes(`'${name}'`)]).toEqual([name, true]);
  });

  it('include every metric that the advice speaks of', () => {
    const text = readFileSync(resolve(__dirname, '../../docs/metrics.md'), 'utf8');
    for (const [name] of text.matchAll(/dsbc_[a-z_]+/g)) expect(Object.keys(METRICS)).toContain(name);
  });
});
