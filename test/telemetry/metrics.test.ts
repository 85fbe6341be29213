import { METRICS } from '../../plugin/telemetry/metric-table';
import { MetricsRegistry } from '../../plugin/telemetry/metrics';

describe('MetricsRegistry', () => {
  it('counts, sets and observes, and says so in Prometheus text', async () => {
    const metrics = new MetricsRegistry({ process: false });
    metrics.add('dsbc_requests_total', { method: 'INVITE', role: 'endpoint', status: '200' });
    metrics.add('dsbc_requests_total', { method: 'INVITE', role: 'endpoint', status: '200' }, 2);
    metrics.set('dsbc_bindings', {}, 7);
    metrics.observe('dsbc_request_seconds', { method: 'INVITE', relay: 'proxy' }, 0.02);
    const text = await metrics.text();
    expect(text).toContain('dsbc_requests_total{method="INVITE",role="endpoint",status="200"} 3');
    expect(text).toContain('dsbc_bindings 7');
    expect(text).toContain('dsbc_request_seconds_bucket{le="0.025",method="INVITE",relay="proxy"} 1');
  });

  it('sets gauges when they are read, and a collector that throws costs only its own', async () => {
    const metrics = new MetricsRegistry({ process: false });
    const end = metrics.onCollect(() => metrics.set('dsbc_flows', {}, 3));
    metrics.onCollect(() => {
      throw new Error('no');
    });
    expect(await metrics.text()).toContain('dsbc_flows 3');
    end();
    metrics.set('dsbc_flows', {}, 0);
    expect(await metrics.text()).toContain('dsbc_flows 0');
  });

  it('forgets the sites of before a reload', async () => {
    const metrics = new MetricsRegistry({ process: false });
    metrics.set('dsbc_site_share', { system: 'source', site: 'old' }, 1);
    metrics.clear('dsbc_site_share');
    metrics.set('dsbc_site_share', { system: 'source', site: 'new' }, 1);
    expect(await metrics.text()).not.toContain('"old"');
  });

  it('lets several instances live in one process', async () => {
    const [a, b] = [new MetricsRegistry({ process: true }), new MetricsRegistry({ process: true })];
    a.set('dsbc_bindings', {}, 1);
    expect(await b.text()).toContain('dsbc_bindings 0');
    expect(await a.text()).toContain('process_cpu_user_seconds_total');
  });

  it('names counters, times and labels as Prometheus asks', () => {
    for (const [name, { type, labels, help }] of Object.entries(METRICS)) {
      expect(name).toMatch(/^dsbc_[a-z_]+$/);
      expect(name.endsWith('_total')).toBe(type === 'counter');
      expect(name.endsWith('_seconds')).toBe(type === 'histogram');
      for (const label of labels) expect(label).toMatch(/^[a-z_]+$/);
      expect(help).toMatch(/\.$/);
    }
  });
});
