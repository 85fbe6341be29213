import { SharedClockwork } from '../../plugin/ha/shared-clockwork';
import { SuspendWatch } from '../../plugin/ha/suspend-watch';

describe('time shared by the two threads', () => {
  it('gives the right to serve for a while, and takes it at once', async () => {
    const clockwork = new SharedClockwork();
    const other = new SharedClockwork(clockwork.buffer);
    expect(other.servingTerm()).toBe(0);
    clockwork.grant(40, 7);
    expect(other.servingTerm()).toBe(7);
    const before = other.grants();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(other.servingTerm()).toBe(0);
    clockwork.grant(1000, 8);
    expect(other.grants()).toBeGreaterThan(before);
    clockwork.revoke();
    expect(other.servingTerm()).toBe(0);
  });

  it('knows how long ago main was alive', async () => {
    const clockwork = new SharedClockwork();
    clockwork.beat();
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(clockwork.mainAge()).toBeGreaterThan(25);
  });

  it('notices that the machine slept, once, and not the steps of the coarser clock', () => {
    let bootMs = 5000;
    let monotonicMs = 1000;
    const watch = new SuspendWatch({ bootMs: () => bootMs, monotonicMs: () => monotonicMs });
    for (let step = 0; step < 50; step++) {
      monotonicMs += 7;
      bootMs = 5000 + Math.floor((monotonicMs - 1000) / 10) * 10;
      expect(watch.slept()).toBe(0);
    }
    bootMs += 60_000;
    expect(watch.slept()).toBeGreaterThan(59_900);
    expect(watch.slept()).toBe(0);
  });
});
