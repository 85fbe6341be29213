import { join } from 'node:path';
import { createGroup } from '../../plugin/ha/group';
import type { WitnessRow, WitnessStore } from '../../plugin/ha/ports';
import { builtPlugin } from '../fixtures/ha/built';
import { freePort } from '../fixtures/sip-endpoint';

/** What a quorum over two sites takes: longer than a heartbeat of the fast profile. */
const ANSWER_MS = 60;

class SlowStore implements WitnessStore {
  private row: WitnessRow | null = null;

  async read(): Promise<WitnessRow | null> {
    await new Promise((resolve) => setTimeout(resolve, ANSWER_MS));
    return this.row;
  }

  async compareAndSet(
    _group: string,
    expected: Pick<WitnessRow, 'term' | 'seq'> | null,
    next: WitnessRow,
  ): Promise<{ readonly applied: boolean; readonly current: WitnessRow | null }> {
    const row = await this.read();
    const applied = row?.term === expected?.term && row?.seq === expected?.seq;
    if (applied) this.row = next;
    return { applied, current: this.row };
  }
}

it('a witness that answers later than a short heartbeat is one all the same', async () => {
  const link = async () => ({ m1: { host: '127.0.0.1', port: await freePort() } });
  const group = createGroup({
    settings: {
      group: 'g',
      instance: 'a',
      key: 'a key of the test',
      heartbeatMs: 50,
      listen: await link(),
      peers: [{ id: 'b', links: await link() }],
      vips: [{ address: '198.51.100.10', family: 4, interface: 'eth0' }],
      witness: 'strict',
    },
    networkModule: join(__dirname, '../fixtures/ha/memory-network.cjs'),
    workerFile: join(builtPlugin(), 'ha/worker.js'),
    witness: new SlowStore(),
  });
  const states: string[] = [];
  group.on('state', ({ to }) => states.push(to));
  await group.start();
  group.setSipHealthy(true);
  await new Promise((resolve) => setTimeout(resolve, 1500));
  await group.close();
  expect(states).toEqual(['STANDBY', 'ACTIVE']);
});
