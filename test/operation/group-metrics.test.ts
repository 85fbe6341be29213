import { createDsbc } from '../../plugin';
import { keepGauges } from '../../plugin/operation/gauges';
import { SitesDesk } from '../../plugin/operation/sites';
import { silentLogger } from '../../plugin/telemetry/logger';
import { smallConfig } from '../fixtures/config';
import { groupView } from '../fixtures/operation';

it('the metrics count heartbeats that were not taken, by reason, however often they are read', async () => {
  const dsbc = createDsbc({ config: smallConfig(), logger: silentLogger });
  let view = groupView;
  const group = {
    group: () => Promise.resolve(view),
    handOver: () => Promise.resolve(),
    maintain: () => Promise.resolve(),
  };
  const end = keepGauges(dsbc, new SitesDesk(dsbc, () => 0), { events: () => undefined, group: () => group });
  const counted = async (): Promise<readonly string[]> =>
    (await dsbc.metrics.text())
      .split('\n')
      .filter((line) => /^dsbc_group_heartbeats_refused_total\{reason="forged"\}/.test(line));
  const refused = (forged: number) => ({ ...groupView.heartbeats_refused, forged });
  view = { ...groupView, heartbeats_refused: refused(3) };
  await counted();
  expect(await counted()).toEqual(['dsbc_group_heartbeats_refused_total{reason="forged"} 3']);
  view = { ...groupView, heartbeats_refused: refused(5) };
  expect(await counted()).toEqual(['dsbc_group_heartbeats_refused_total{reason="forged"} 5']);
  end();
});
