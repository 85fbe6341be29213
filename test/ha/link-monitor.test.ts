import type { GroupEvent } from '../../plugin/ha/group/event';
import { LinkMonitor } from '../../plugin/ha/link-monitor';
import type { HeldAddress, NetworkEvent, VipAddress } from '../../plugin/ha/ports';
import { silentLogger } from '../../plugin/telemetry/logger';

const VIP: VipAddress = { address: '198.51.100.10', family: 4, interface: 'eth0' };

async function bench(ours = false) {
  const given: GroupEvent[] = [];
  const held: HeldAddress[] = [];
  let tell: (event: NetworkEvent) => void = () => undefined;
  const monitor = new LinkMonitor(
    { group: 'g', instance: 'a', key: 'a key of the test', listen: {}, peers: [], vips: [VIP] },
    {
      hearsForeignArp: true,
      links: (names) => Promise.resolve(names.map((name) => ({ interface: name, up: true, carrier: true }))),
      watch: (_interfaces, _addresses, listener) => {
        tell = listener;
        return () => undefined;
      },
    },
    (event) => given.push(event),
    silentLogger,
    { list: () => Promise.resolve(held), isOurs: () => ours },
  );
  await monitor.start();
  given.length = 0;
  const say = async (action: 'added' | 'removed' | 'shadowed'): Promise<void> => {
    tell({ type: 'address', action, address: VIP.address, interface: VIP.interface });
    await new Promise((resolve) => setImmediate(resolve));
  };
  const change = async (action: 'added' | 'removed', validS = Infinity): Promise<void> => {
    held.length = 0;
    if (action === 'added') held.push({ ...VIP, prefix: 32, validS });
    await say(action);
  };
  const shadow = async (isThere: boolean): Promise<void> => {
    held.length = 0;
    if (isThere) held.push({ ...VIP, prefix: 24, validS: Infinity });
    await say('shadowed');
  };
  return { given, change, shadow };
}

describe('an address of the group that somebody else adds', () => {
  it('is an obstacle until it is removed', async () => {
    const { given, change } = await bench();
    await change('added');
    const obstacle = {
      alarm: 'vip_foreign',
      about: VIP.address,
      reason: '198.51.100.10 was added to eth0 by somebody else, and must be removed by hand',
    };
    expect(given).toEqual([{ type: 'obstacle', obstacle, on: true }]);
    given.length = 0;
    await change('removed');
    expect(given).toEqual([{ type: 'vip-lost' }, { type: 'obstacle', obstacle, on: false }]);
  });

  it('is one with any other prefix, too, which does not mean that ours is lost', async () => {
    const { given, shadow } = await bench();
    await shadow(true);
    await shadow(false);
    expect(given).toMatchObject([
      { type: 'obstacle', on: true },
      { type: 'obstacle', on: false },
    ]);
  });

  it('is not seen in our own, held or just let go', async () => {
    const mine = await bench(true);
    await mine.change('added');
    expect(mine.given).toEqual([]);
    const late = await bench();
    await late.change('added', 1);
    expect(late.given).toEqual([]);
  });
});
