import { METRICS, metricsReference } from '../../plugin/telemetry/metric-table';
import { REFUSALS } from '../../plugin/admission/admission';
import { ATTEMPT_OUTCOMES } from '../../plugin/dispatch/count';
import { REJECTIONS } from '../../plugin/ha/heartbeat/wire';
import { CACHE_EVENTS } from '../../plugin/registry/cache-statistics';
import { EVENT_OUTCOMES } from '../../plugin/registry/provisioning/handler';
import { NODE_STATES } from '../../plugin/routing/states';
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

  it.each<[keyof typeof METRICS, readonly string[]]>([
    ['dsbc_requests_refused_total', REFUSALS],
    ['dsbc_events_total', EVENT_OUTCOMES],
    ['dsbc_site_state', NODE_STATES],
    ['dsbc_group_heartbeats_refused_total', REJECTIONS],
    // Invalidations have a metric of their own.
    ['dsbc_registry_lookups_total', CACHE_EVENTS.filter((event) => event !== 'invalidated')],
    ['dsbc_attempts_total', ATTEMPT_OUTCOMES],
  ])('say which values the label of %s takes', (name, values) => {
    const said = /: ([a-z_, ]+)\.$/.exec(METRICS[name].help)?.[1]?.split(', ') ?? [];
    expect(said.sort()).toEqual([...new Set(values)].sort());
  });

  it('include every metric that the advice speaks of', () => {
    const text = readFileSync(resolve(__dirname, '../../docs/metrics.md'), 'utf8');
    for (const [name] of text.matchAll(/dsbc_[a-z_]+/g)) expect(Object.keys(METRICS)).toContain(name);
  });
});
