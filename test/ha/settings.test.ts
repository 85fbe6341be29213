import { timingFor } from '../../plugin/ha/group/timing';
import type { GroupSettings } from '../../plugin/ha/settings';
import { canonicalVips, machineConfig, serviceInterfaces } from '../../plugin/ha/settings';

const settings: GroupSettings = {
  group: 'g',
  instance: 'a',
  key: 'k',
  listen: { m1: { host: '127.0.0.1', port: 1 } },
  peers: [{ id: 'b', links: {} }],
  vips: [{ address: '198.51.100.10', family: 4, interface: 'eth0' }],
};

describe('settings of a group', () => {
  it('scale everything by the heartbeat; the figures of the specification at 500 ms', () => {
    expect(timingFor(500)).toMatchObject({
      dead: 1100,
      claim: 1150,
      lease: 1000,
      fence: 850,
      recheck: 700,
      listen: 1500,
      stagger: 300,
      debounce: 300,
      probe: 15_000,
      witness: 3000,
      witnessTake: 3150,
      witnessSpare: 1150,
    });
    expect(timingFor(50)).toMatchObject({
      dead: 110,
      claim: 110,
      fence: 85,
      recheck: 70,
      listen: 150,
      stagger: 30,
      leaseS: 1,
    });
    expect(timingFor(1000)).toMatchObject({
      dead: 2200,
      claim: 2250,
      leaseS: 2,
      fence: 1700,
      witnessSpare: 2250,
    });
  });

  it.each([0, 49, 700, 2500, NaN])('refuse a heartbeat of %d ms', (heartbeatMs) => {
    expect(() => machineConfig({ ...settings, heartbeatMs })).toThrow(
      expect.objectContaining({ code: 'DSBC_GROUP_INVALID' }),
    );
  });

  it('keep order at every heartbeat: a lease ends before a peer claims, from 500 ms on', () => {
    for (const heartbeat of [500, 1000, 1500, 2000]) {
      const { lease, leaseSlack, claim, dead, fence, answer, ready } = timingFor(heartbeat);
      expect(lease + leaseSlack).toBeLessThanOrEqual(claim);
      expect(dead).toBeLessThanOrEqual(claim);
      expect(fence).toBeLessThan(lease);
      expect(ready).toBeLessThan(answer);
    }
  });

  it('refuse what cannot work, and say what', () => {
    const refused = (change: Partial<GroupSettings>): unknown => {
      try {
        machineConfig({ ...settings, ...change });
        return undefined;
      } catch (error) {
        return (error as Error).message;
      }
    };
    expect(refused({})).toBeUndefined();
    expect(refused({ peers: [{ id: 'a', links: {} }] })).toBe('instance a is named twice in the group');
    expect(refused({ vips: [] })).toMatch(/VIP/);
    expect(refused({ listen: {} })).toMatch(/heartbeat link/);
  });

  it('count the interfaces of the VIPs unless others are named, and write IPv6 as the kernel does', () => {
    expect(serviceInterfaces(settings)).toEqual(['eth0']);
    expect(serviceInterfaces({ ...settings, serviceInterfaces: ['bond0', 'bond1'] })).toEqual([
      'bond0',
      'bond1',
    ]);
    expect(canonicalVips([{ address: '2001:DB8:0:0::0010', family: 6, interface: 'eth0' }])[0]!.address).toBe(
      '2001:db8::10',
    );
  });
});
