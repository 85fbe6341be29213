import type { ServerKind } from '../fixtures/ha/program-lab';
import { soakKills } from '../fixtures/ha/soak/kill-soak';
import type { Need } from '../fixtures/needs';
import { describeWith } from '../fixtures/needs';

/** The short form of `npm run bench -- kills`, which kills ten times at 200 calls/s. */
const KINDS: readonly (readonly [ServerKind, readonly Need[]])[] = [
  ['embedded', ['netns']],
  ['drachtio', ['netns', 'drachtio']],
];

for (const [server, needs] of KINDS) {
  describeWith(needs, `SIGKILL of the active under load, ${server} server`, () => {
    it('loses no registration, and of proxied calls only those whose callee had not answered yet', async () => {
      const report = await soakKills({
        server,
        kills: 2,
        callsPerSecond: 40,
        registrationsPerSecond: 10,
        seed: 5,
        settleMs: 12_000,
      });
      expect(report.violations).toEqual([]);
      const { proxy } = report.relays;
      // The kills hit calls under way, and ringing ones went on.
      expect(proxy!.touched).toBeGreaterThan(20);
      expect(proxy!.ringing).toBeGreaterThan(5);
      expect(proxy!.ringingEstablished).toBe(proxy!.ringing);
      expect(report.relays['forward (REGISTER)']!.touched).toBeGreaterThan(0);
    }, 120_000);
  });
}
