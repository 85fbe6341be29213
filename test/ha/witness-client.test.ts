import type { WitnessReply } from '../../plugin/ha/group/event';
import { WitnessClient } from '../../plugin/ha/lease/client';
import type { WitnessStore } from '../../plugin/ha/ports';

const LIMIT_MS = 100;

describe('the way to the witness', () => {
  const clients: WitnessClient[] = [];
  const open = (store: Partial<WitnessStore>, onReply: (id: number, reply: WitnessReply) => void) => {
    const client = new WitnessClient(store as WitnessStore, 'g', LIMIT_MS, onReply);
    clients.push(client);
    return client;
  };
  afterEach(() => clients.splice(0).forEach((client) => client.close()));
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  it('is not gone without a pause while the store refuses at once, as the machine asks again at once', async () => {
    let asked = 0;
    const store = {
      read: () => {
        asked += 1;
        return Promise.reject(new Error('nothing is connected'));
      },
    };
    const replies: WitnessReply[] = [];
    const client = open(store, (id, reply) => {
      replies.push(reply);
      if (asked < 10_000) client.read(id + 1);
    });
    client.read(1);
    await pause(3 * LIMIT_MS);
    expect(replies[0]).toEqual({ type: 'unknown' });
    expect(asked).toBeGreaterThan(3);
    expect(asked).toBeLessThanOrEqual(16);
  });

  it('tells an answer at once, silence after the limit, and nothing behind its end', async () => {
    const replies: [number, WitnessReply][] = [];
    const row = { owner: 'a', term: 1, seq: 1 };
    let answers = true;
    const store = { read: () => (answers ? Promise.resolve(row) : new Promise<never>(() => undefined)) };
    const client = open(store, (id, reply) => replies.push([id, reply]));
    client.read(1);
    await pause(0);
    expect(replies).toEqual([[1, { type: 'row', row }]]);
    answers = false;
    client.read(2);
    await pause(LIMIT_MS / 2);
    expect(replies).toHaveLength(1);
    await pause(LIMIT_MS);
    expect(replies[1]).toEqual([2, { type: 'unknown' }]);
    client.read(3);
    client.close();
    await pause(1.5 * LIMIT_MS);
    expect(replies).toHaveLength(2);
  });
});
