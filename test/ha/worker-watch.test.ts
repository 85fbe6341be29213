import { WorkerWatch } from '../../plugin/ha/worker-watch';

describe('main watches the worker', () => {
  const watch = (): WorkerWatch => new WorkerWatch(50, 850);

  it('and gives it up after four fences without a beat', () => {
    const made = watch();
    let beats = 0n;
    let now = 0;
    for (; now < 10_000; now += 50) expect(made.hangs(++beats, now)).toBe(false);
    const silentFrom = now;
    while (!made.hangs(beats, now)) now += 50;
    expect(now - silentFrom).toBeGreaterThanOrEqual(3400 - 50);
    expect(now - silentFrom).toBeLessThanOrEqual(3500);
  });

  it('but not before it has begun, nor for the time in which main did not run itself', () => {
    const made = watch();
    let now = 0;
    for (; now < 60_000; now += 50) expect(made.hangs(0n, now)).toBe(false);
    expect(made.hangs(1n, now)).toBe(false);
    // The process was stopped for a minute, and main looks before the worker beats; then it does.
    for (let beats = 1n; beats < 20n; beats += 1n) {
      now += 60_000;
      expect(made.hangs(beats, now)).toBe(false);
      expect(made.hangs(beats + 1n, now + 50)).toBe(false);
    }
  });
});
