import type { VipAddress } from '../../plugin/ha/ports';
import { LeasePacer, PACER_PREFERRED_S, PACER_VALID_S } from '../../plugin/network/lease-pacer';

const VIP: VipAddress = { address: '198.51.100.10', family: 4, interface: 'eth0' };

interface Lease {
  readonly renewedAt: number;
  readonly preferredMs: number;
  readonly validMs: number;
}

/** When check_lifetime looks next, run at `now` on one CPU of a machine with so many jiffies a second (milliseconds here). */
function nextCheck(leases: Iterable<Lease>, now: number, cpu: number, jiffiesPerSecond: number): number {
  const skew = (cpu * 3 * 1000) / jiffiesPerSecond;
  let next = Infinity;
  for (const { renewedAt, preferredMs, validMs } of leases) {
    const age = now - renewedAt + 20;
    if (age >= validMs) continue;
    next = Math.min(next, renewedAt + (age >= preferredMs ? validMs : preferredMs));
  }
  const second = (Math.floor((next + skew) / 1000) + 1) * 1000 - skew;
  return Math.max(second < next + 250 ? second : next, now + 1000);
}

/** How late the kernel would end a lease that is renewed every so often and then no more: the worst of many phases. */
function worst(heartbeatMs: number, { paced, cpu, hz }: { paced: boolean; cpu: number; hz: number }): number {
  let late = 0;
  for (let phase = 0; phase < 1000; phase += 10) {
    let now = 10_000 + phase;
    const pacer = new LeasePacer(() => now);
    const leases = new Map<string, Lease>();
    const pace = (pacers: readonly VipAddress[]): void => {
      const lease = { renewedAt: now, preferredMs: 1000 * PACER_PREFERRED_S, validMs: 1000 * PACER_VALID_S };
      if (paced) for (const { address } of pacers) leases.set(address, lease);
    };
    pace(pacer.start([VIP], pace));
    pacer.close();
    now += 300;
    for (let beat = 0; beat < 40; beat++) {
      leases.set(VIP.address, { renewedAt: now, preferredMs: 1000, validMs: 1000 });
      pace(pacer.behind([VIP], 1));
      late = Math.max(late, nextCheck(leases.values(), now, cpu, hz) - now - 1000);
      // Beats come late, but less than the fence allows.
      now += heartbeatMs + ((beat * 37) % 100);
    }
  }
  return late;
}

describe('pacers of leases', () => {
  const machines = [
    { cpu: 0, hz: 250 },
    { cpu: 63, hz: 250 },
    { cpu: 5, hz: 1000 },
    { cpu: 7, hz: 100 },
  ];

  it('have the kernel look on time at every heartbeat, on every CPU, wherever its second is', () => {
    for (const machine of machines) {
      for (const heartbeat of [50, 70, 120, 200, 240, 250, 333, 400, 499, 500]) {
        expect([heartbeat, worst(heartbeat, { ...machine, paced: true })]).toEqual([heartbeat, 0]);
      }
    }
  });

  it('are necessary', () => {
    for (const machine of machines) expect(worst(500, { ...machine, paced: false })).toBeGreaterThan(200);
  });

  it('are renewed behind leases of a second only, two in turn, one family without the other', () => {
    let now = 1000;
    const pacer = new LeasePacer(() => now);
    const renewed: string[] = [];
    for (let beat = 0; beat < 4; beat++) {
      renewed.push(...pacer.behind([VIP], 1).map(({ address }) => address));
      now += 500;
    }
    expect(renewed).toHaveLength(4);
    expect(new Set(renewed).size).toBe(2);
    expect(renewed.every((address) => address.startsWith('127.85.'))).toBe(true);
    expect(pacer.behind([VIP], 2)).toEqual([]);
    expect(pacer.behind([{ ...VIP, family: 6 }], 1)).toMatchObject([{ family: 6, interface: 'lo' }]);
  });

  describe('of a lease that is not renewed', () => {
    beforeEach(() => jest.useFakeTimers());
    afterEach(() => jest.useRealTimers());
    const lab = () => {
      const pacer = new LeasePacer(() => Date.now());
      const start = Date.now();
      const looks: number[] = [];
      pacer.start([VIP], () => looks.push(Date.now() - start));
      pacer.behind([VIP], 1);
      return { pacer, looks };
    };

    it('have an idle kernel look from its end on, until it must be over', () => {
      const { pacer, looks } = lab();
      jest.advanceTimersByTime(1300);
      expect(looks.slice(0, 3)).toEqual([980, 1020, 1060]);
      expect(looks.at(-1)).toBeGreaterThan(1200);
      pacer.close();
      expect(jest.getTimerCount()).toBe(0);
    });

    it('leave alone one that was renewed, or removed', () => {
      const { pacer, looks } = lab();
      jest.advanceTimersByTime(500);
      pacer.behind([VIP], 1);
      jest.advanceTimersByTime(900);
      pacer.removed([VIP]);
      jest.advanceTimersByTime(150);
      expect(looks).toEqual([]);
      pacer.close();
    });
  });
});
