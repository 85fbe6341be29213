import { figure, isFull, percent } from '../fixtures/load/figures';
import { LoadLab } from '../fixtures/load/load-lab';
import { bySite } from '../fixtures/load/phones';
import { sipServerKind } from '../fixtures/sip-server';

/**
 * Requests per case, half of them registrations, half calls, each of an account of its own. DSBC_LOAD=full: 10,000, and
 * every site in every state.
 */
const COUNT = isFull ? 10_000 : 1200;
const RATE = 250;

/** Shares 50/30/20, and what is left when one of them takes nothing: its part is split equally over the others. */
const SHARES = {
  main: { main: 0, a: 55, b: 45 },
  a: { main: 65, a: 0, b: 35 },
  b: { main: 60, a: 40, b: 0 },
} as const;
type Site = keyof typeof SHARES;
const SITES: readonly Site[] = ['main', 'a', 'b'];

/**
 * Points that a site may be off. The site of an account is drawn by a hash, so 10,000 accounts are within one point of
 * their shares in 19 of 20 draws; the accounts of the full size are such that all are.
 */
const tolerance = (share: number): number =>
  isFull ? 1 : 4 * 100 * Math.sqrt(((share / 100) * (1 - share / 100)) / COUNT);

const CASES = [
  ['main', 'maintenance'],
  ['a', 'drain'],
  ['b', 'down'],
  ...(isFull
    ? ([
        ['a', 'maintenance'],
        ['b', 'maintenance'],
        ['main', 'drain'],
        ['b', 'drain'],
        ['main', 'down'],
        ['a', 'down'],
      ] as const)
    : []),
] as const;

describe(`the shares 50/30/20 (${sipServerKind})`, () => {
  let lab: LoadLab;
  let first = 100_000;
  beforeAll(async () => {
    lab = await LoadLab.start();
    for (const site of SITES) await lab.becomes(site, 'active');
  }, 40_000);
  let undo: () => Promise<void> = () => Promise.resolve();
  afterEach(async () => {
    await undo();
    for (const site of SITES) await lab.becomes(site, 'active', 30_000);
  }, 40_000);
  afterAll(() => lab.close());

  it.each(CASES)(
    '%s in %s: the others take its part equally',
    async (site, state) => {
      if (state === 'down') await lab.site(site).kill();
      else await lab.order(site, state);
      undo = state === 'down' ? () => lab.site(site).start() : () => lab.order(site, 'active');
      await lab.becomes(site, state);
      lab.phones.start({ registrations: RATE, calls: RATE, limit: COUNT / 2, accounts: COUNT, first });
      first += COUNT;
      const sent = await lab.phones.stop();
      const counts = bySite(sent);
      const shares = Object.fromEntries(SITES.map((one) => [one, percent(counts[one] ?? 0, sent.length)]));
      figure(`show 4: ${site} in ${state} (${sipServerKind})`, { sent: sent.length, counts, shares });
      const now = await lab.shares();
      for (const one of SITES) {
        const wanted = SHARES[site][one];
        expect([one, now[one]]).toEqual([one, expect.closeTo(wanted / 100, 9)]);
        const off = Math.abs((shares[one] ?? 0) - wanted);
        expect([one, off <= tolerance(wanted), shares]).toEqual([one, true, shares]);
      }
      expect(sent.filter(({ status }) => status !== 200)).toEqual([]);
    },
    120_000,
  );
});
