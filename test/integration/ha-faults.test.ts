import { describeWith } from '../fixtures/needs';
import { soakFaults } from '../fixtures/ha/soak/fault-soak';

/**
 * The short form of `npm run bench -- faults --seconds=3600`. DSBC_FAULT_SECONDS and DSBC_FAULT_SEED make it as long, and as
 * different, as one likes.
 */
const SECONDS = Number(process.env['DSBC_FAULT_SECONDS'] ?? 20);
const SEED = Number(process.env['DSBC_FAULT_SEED'] ?? 3);

describeWith(['netns', 'tcpdump'], 'random faults, seen from the wire', () => {
  it(
    `never show two owners for longer than the specification allows, and the log explains every change (seed ${SEED})`,
    async () => {
      const report = await soakFaults({ seconds: SECONDS, seed: SEED });
      // Faults were done, and the checker saw the VIP move and was asked often enough to see an overlap.
      expect(Object.values(report.faults).reduce((sum, count) => sum + count, 0)).toBeGreaterThan(2);
      expect(report.changesOnWire).toBeGreaterThan(0);
      expect(report.questions).toBeGreaterThan(report.seconds * 10);
      expect(report.violations).toEqual([]);
    },
    (SECONDS + 60) * 1000,
  );
});
