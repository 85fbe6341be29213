import { step } from '../../../plugin/ha/group/machine';
import type { WitnessMode } from '../../../plugin/ha/group/state';
import { runSchedule, scheduleOf } from './schedule';

/** Schedules per shard; two shards run without a witness and two with one, each pair 10,000. */
const SCHEDULES = 5_000;

/**
 * One part of the schedules: the parts are files of their own so that Jest runs them side by side. A schedule that
 * fails is named by its seed; `runSchedule(scheduleOf(seed, modes), step)` repeats it exactly.
 */
export function describeShard(shard: number, modes: readonly WitnessMode[]): void {
  describe(`the group under ${SCHEDULES} random schedules of 2 to 4 instances, witness ${modes.join(' or ')} (part ${shard})`, () => {
    it('keeps all twelve invariants', () => {
      const failed: string[] = [];
      const counts: Record<string, number> = {};
      for (let seed = shard * SCHEDULES; seed < (shard + 1) * SCHEDULES; seed++) {
        const schedule = scheduleOf(seed, modes);
        const key = `${schedule.size} ${schedule.kind}`;
        counts[key] = (counts[key] ?? 0) + 1;
        const [first] = runSchedule(schedule, step);
        if (first !== undefined) failed.push(`${JSON.stringify(schedule)} ${first}`);
      }
      expect(failed).toEqual([]);
      // Every size meets every kind of schedule.
      expect(Object.keys(counts)).toHaveLength(9);
    }, 300_000);
  });
}
