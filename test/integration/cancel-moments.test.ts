import { DsbcLab } from '../fixtures/dsbc-lab';
import type { DeviceTransaction, FakeDevice } from '../fixtures/fake-device';
import type { SiteAnswer } from '../fixtures/fake-site';
import { figure, isFull } from '../fixtures/load/figures';
import { sipServerKind } from '../fixtures/sip-server';

/** Calls of each kind; together 600 with DSBC_LOAD=full. */
const SCALE = isFull ? 1 : 0.25;
const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Repeats a request every T1 until an answer to it comes: CANCEL follows only a provisional answer (RFC 3261 §9.1), and is
 * repeated like any request.
 */
async function untilAnswered(
  device: FakeDevice,
  { branch }: DeviceTransaction,
  method: 'INVITE' | 'CANCEL',
  repeat: () => Promise<void>,
): Promise<void> {
  for (let tries = 0; tries < 5; tries++) {
    const answered = device.waitFor(
      ({ message }) =>
        message.kind === 'response' && message.via?.branch === branch && message.cseq?.method === method,
      500,
    );
    if (
      await answered.then(
        () => true,
        () => false,
      )
    )
      return;
    await repeat();
  }
}

/** When the caller hangs up, and what the sites do meanwhile: the first that is tried, then the second. */
interface Moment {
  readonly name: string;
  readonly calls: number;
  /** What the time runs from: the INVITE is there (100 Trying), or the first site has got it. */
  readonly from: 'trying' | 'at site';
  /** Milliseconds from then to the CANCEL, for the i-th call. */
  readonly after: (i: number) => number;
  readonly sites: readonly (readonly SiteAnswer[])[];
}

const RING: readonly SiteAnswer[] = [{ status: 180 }];
const MOMENTS: readonly Moment[] = [
  {
    name: 'right behind the INVITE',
    calls: 240,
    from: 'trying',
    after: (i) => (i % 60) / 2,
    sites: [RING, RING],
  },
  {
    name: 'before the first answer',
    calls: 80,
    from: 'at site',
    after: (i) => i * 4,
    sites: [[{ status: 180, afterMs: 600 }], RING],
  },
  {
    name: 'between two attempts, after a 503',
    calls: 120,
    from: 'at site',
    after: (i) => 8 + (i % 12),
    sites: [[{ status: 503, afterMs: 10 }], RING],
  },
  {
    name: 'between two attempts, after silence',
    calls: 80,
    from: 'at site',
    after: (i) => 1980 + ((i * 3) % 40),
    sites: [[], RING],
  },
  { name: 'while it rings', calls: 80, from: 'at site', after: (i) => 20 + i, sites: [RING, RING] },
];

describe(`CANCEL at every moment of an attempt (${sipServerKind})`, () => {
  let lab: DsbcLab;
  beforeAll(async () => {
    // Failures of sites are the point here: they must not take sites out.
    const calm = { interval_ms: 60_000, ejection: { consecutive: 1000 } };
    lab = await DsbcLab.start({ config: { health: calm } });
  });
  afterEach(() => lab.tidy());
  afterAll(() => lab.stop());

  it.each(MOMENTS)(
    '$name: one 487, and no site keeps ringing',
    async ({ name, calls, from, after, sites }) => {
      const count = Math.round(calls * SCALE);
      const tried = new Map<string, number>();
      const arrived = new Map<string, () => void>();
      for (const site of Object.values(lab.sites)) {
        site.script = ({ message }) => {
          if (message.method !== 'INVITE') return { status: 200 };
          const nth = tried.get(message.callId ?? '') ?? 0;
          tried.set(message.callId ?? '', nth + 1);
          arrived.get(message.callId ?? '')?.();
          return sites[nth] ?? RING;
        };
      }
      const device = await lab.device();
      const all: DeviceTransaction[] = [];
      // In small groups: a burst would be lost in the sockets, and these raw phones do not repeat.
      const groups = Math.ceil(count / (after(0) > 1000 ? 20 : 10));
      for (let group = 0; group < groups; group++) {
        const size = Math.ceil(count / groups);
        await Promise.all(
          Array.from({ length: size }, async (_, i) => {
            const callId = `${group}-${i}-${Date.now()}@device`;
            const atSite = new Promise<void>((resolve) => arrived.set(callId, resolve));
            const invite = await device.request({ method: 'INVITE', from: '1001', to: '1001', callId });
            all.push(invite);
            await untilAnswered(device, invite, 'INVITE', () => invite.retransmit());
            if (from === 'at site') await atSite;
            await pause(after(group * size + i));
            await invite.cancel();
            await untilAnswered(device, invite, 'CANCEL', () => invite.cancel());
          }),
        );
      }
      await pause(after(0) > 1000 ? 2500 : 1500);
      const finals = all.map(({ statuses }) => statuses.find((status) => status >= 200) ?? 0);
      const ours = new Set(all.map(({ callId }) => callId));
      const invites = Object.values(lab.sites).flatMap((site) => {
        const ended = new Set(site.cancelledCalls);
        const branches = new Map(
          site.received
            // A silent site still gets retransmissions of the calls before.
            .filter(({ message }) => message.method === 'INVITE' && ours.has(message.callId ?? ''))
            .map(({ message }) => [message.via?.branch ?? '', message.callId ?? '']),
        );
        return [...branches.values()].map((callId) => ({ callId, ended: ended.has(callId) }));
      });
      // What answered 503, or nothing at all, does not ring.
      const first = sites[0] ?? [];
      const rings = first.length > 0 && first.every(({ status }) => status < 200);
      const ringing = invites.filter(
        ({ callId, ended }, i) =>
          !ended && (rings || invites.findIndex((other) => other.callId === callId) !== i),
      ).length;
      const again = all.reduce(
        (sum, { branch }) =>
          sum +
          device.received.filter(
            ({ message }) =>
              message.kind === 'response' &&
              message.via?.branch === branch &&
              message.cseq?.method === 'INVITE' &&
              message.status >= 200,
          ).length -
          1,
        0,
      );
      figure(`show 6: CANCEL ${name} (${sipServerKind})`, {
        calls: all.length,
        invitesAtSites: invites.length,
        ringing,
        finalsAgain: again,
      });
      expect(new Set(finals)).toEqual(new Set([487]));
      expect(ringing).toBe(0);
      // drachtio-server says it once more when the CANCEL it forgot is repeated to it: a copy, as retransmissions are.
      if (sipServerKind === 'embedded') expect(again).toBe(0);
      else expect(again).toBeLessThanOrEqual(all.length);
    },
    60_000,
  );
});
