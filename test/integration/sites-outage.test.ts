import { figure, isFull, percent } from '../fixtures/load/figures';
import { LoadLab, type Reading } from '../fixtures/load/load-lab';
import { bySite, now, pause, type Sent } from '../fixtures/load/phones';
import { sipServerKind } from '../fixtures/sip-server';

/** Full size: 200 registrations and 100 calls per second, phases of 15 s. DSBC_LOAD=full. */
const LOAD = isFull ? { registrations: 200, calls: 100 } : { registrations: 100, calls: 50 };
const PHASE_MS = isFull ? 15_000 : 2000;

/** Percentage points that a phase may be off: four standard deviations of so many draws. */
const tolerance = (share: number, count: number): number => 400 * Math.sqrt((share * (1 - share)) / count);

function expectShares(sent: readonly Sent[], shares: Readonly<Record<string, number>>): void {
  const sites = bySite(sent);
  for (const [site, share] of Object.entries(shares)) {
    const off = Math.abs(percent(sites[site] ?? 0, sent.length) - share * 100);
    expect([site, off <= tolerance(share, sent.length), sites]).toEqual([site, true, sites]);
  }
}

const counted = (readings: readonly Reading[]): Record<string, number> =>
  Object.fromEntries(
    readings.map(({ labels, value }) => [
      [labels['method'], labels['relay'], labels['reason']].join(' '),
      value,
    ]),
  );
const sum = (counts: Readonly<Record<string, number>>): number =>
  Object.values(counts).reduce((total, value) => total + value, 0);

describe(`a site that goes out under load (${sipServerKind})`, () => {
  let lab: LoadLab;
  beforeAll(async () => {
    lab = await LoadLab.start();
    for (const site of ['main', 'a', 'b']) await lab.becomes(site, 'active');
    // The first thousands of requests cost a program many times what later ones do.
    lab.phones.start({ registrations: 100, calls: 100, limit: isFull ? 800 : 200 });
    await lab.phones.stop();
  }, 40_000);
  afterAll(() => lab.close());

  it.each([
    ['killed', 'main', () => lab.site('main').kill(), () => lab.site('main').start()],
    [
      'frozen',
      'a',
      () => {
        lab.site('a').freeze();
      },
      () => {
        lab.site('a').thaw();
      },
    ],
  ] as const)(
    '%s: its requests are on the others within 2 s, and come back with it',
    async (how, out, goOut, comeBack) => {
      const lostBefore = counted(await lab.metrics('dsbc_requests_lost_total'));
      const delayedBefore = counted(await lab.metrics('dsbc_requests_delayed_total'));
      lab.phones.start(LOAD);
      const startedAt = now();
      await pause(PHASE_MS);
      const outAt = now();
      await goOut();
      const untilDown = await lab.becomes(out, 'down');
      // What is sent from 2 s on is looked at: a second of it at least.
      await pause(Math.max(PHASE_MS, outAt + 3000 - now()));
      const shares = await lab.shares();
      await comeBack();
      const untilUp = await lab.becomes(out, 'active');
      const backAt = now();
      await pause(PHASE_MS);
      const sent = await lab.phones.stop();

      const before = sent.filter(({ sentAt }) => sentAt < outAt - 100);
      const during = sent.filter(({ sentAt }) => sentAt >= outAt - 100 && sentAt < outAt + 2000);
      const after = sent.filter(({ sentAt }) => sentAt >= outAt + 2000 && sentAt < backAt - untilUp - 100);
      const back = sent.filter(({ sentAt }) => sentAt >= backAt + 100);
      const lost = difference(counted(await lab.metrics('dsbc_requests_lost_total')), lostBefore);
      const delayed = difference(counted(await lab.metrics('dsbc_requests_delayed_total')), delayedBefore);
      figure(`show 1: ${how} (${sipServerKind})`, {
        ...LOAD,
        seconds: Math.round((now() - startedAt) / 100) / 10,
        sent: sent.length,
        notAnswered200: sent.filter(({ status }) => status !== 200).length,
        downAfterMs: Math.round(untilDown),
        lastSlowAfterMs: Math.round(
          Math.max(
            0,
            ...sent.filter((one) => one.site !== out && slow(one)).map(({ sentAt }) => sentAt - outAt),
          ),
        ),
        slow: during.filter(slow).length,
        worstMs: Math.round(Math.max(...sent.map(({ sentAt, finalAt }) => finalAt - sentAt))),
        lost,
        delayed,
        before: bySite(before),
        after: bySite(after),
        back: bySite(back),
        events: lab.events(),
      });

      expectShares(before, { main: 0.5, a: 0.3, b: 0.2 });
      // The lost share is split equally over the others.
      expect(shares).toEqual(out === 'main' ? { main: 0, a: 0.55, b: 0.45 } : { main: 0.65, a: 0, b: 0.35 });
      expectShares(after, shares);
      expectShares(back, { main: 0.5, a: 0.3, b: 0.2 });
      // Two seconds after it went out nobody waits for it any more.
      expect(after.filter((one) => one.status !== 200 || slow(one)).map(words)).toEqual([]);
      expect(sent.filter(({ status }) => status !== 200).length).toBe(sum(lost));
      // Not one request was lost, and whatever waited for the dead site was counted.
      expect(lost).toEqual({});
      expect(sum(delayed)).toBeGreaterThanOrEqual(during.filter(slow).length);
      expect(sum(delayed)).toBeGreaterThan(0);
    },
    120_000,
  );
});

/** It waited for a dead site (2 s); a busy machine takes a part of a second. */
const slow = ({ sentAt, finalAt }: Sent): boolean => finalAt - sentAt > 1500;
const words = ({ method, account, sentAt, finalAt, status, site, tries }: Sent): string =>
  `${method} ${account}: ${status} of ${site} after ${Math.round(finalAt - sentAt)} ms, ${tries} tries, at ${Math.round(sentAt)}`;

function difference(
  after: Readonly<Record<string, number>>,
  before: Readonly<Record<string, number>>,
): Record<string, number> {
  return Object.fromEntries(
    Object.entries(after)
      .map(([name, value]) => [name, value - (before[name] ?? 0)] as const)
      .filter(([, value]) => value > 0),
  );
}
