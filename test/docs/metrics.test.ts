import { METRICS, metricsReference } from '../../plugin/telemetry/metric-table';
import { fillBlock, itIsCurrent } from '../fixtures/generated';
import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';

describe('the documented metrics', () => {
  itIsCurrent('docs/metrics.md', (before) => fillBlock(before, 'metrics', metricsReference()));

  it('include every metric that the advice speaks of', () => {
    const text = readFileSync(resolve(__dirname, '../../docs/metrics.md'), 'utf8');
    for (const [name] of text.matchAll(/dsbc_[a-z_]+/g)) expect(Object.keys(METRICS)).toContain(name);
  });
});
