import type { BindingRecord } from '../../plugin/nat/bindings';
import { BindingTable } from '../../plugin/nat/bindings';
import { BINDINGS_TOPIC, replicatedBindings } from '../../plugin/nat/replicated-bindings';

const record: BindingRecord = {
  aor: '1001@example.com',
  device: 'a phone',
  contact: 'sip:1001@192.0.2.33',
  flow: {
    entry: { address: '198.51.100.10', port: 5060 },
    transport: 'udp',
    remote: { address: '203.0.113.7', port: 41000 },
  },
  expiresIn: 60,
  ping: true,
};
const table = (): BindingTable => new BindingTable({ maxBindings: 10, now: () => 0 });

describe('bindings that are replicated', () => {
  it('are on the standby what they are on the active, across JSON', () => {
    const [active, standby] = [table(), table()];
    active.apply(record);
    const topic = replicatedBindings(standby);
    expect(topic.name).toBe(BINDINGS_TOPIC);
    for (const each of replicatedBindings(active).snapshot()) topic.apply(JSON.parse(JSON.stringify(each)));
    expect([...standby.records()]).toEqual([...active.records()]);
    topic.apply({ ...record, expiresIn: 0 });
    expect(standby.size).toBe(0);
  });

  it.each([
    null,
    7,
    'text',
    {},
    { ...record, aor: 7 },
    { ...record, flow: {} },
    { ...record, expiresIn: '60' },
  ])('are not taken from what another version might send: %j', (strange) => {
    const standby = table();
    replicatedBindings(standby).apply(strange);
    expect(standby.size).toBe(0);
  });
});
