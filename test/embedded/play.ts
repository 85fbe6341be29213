import type { FakeClock } from './fake-clock';
import type { Lab } from './lab';
import { TcpPeer, UdpPeer, until } from './sip-peer';

/** What the sender of a message saw at last (0: nothing), and whether the first site saw the message. */
export type Outcome = [status: number, forwarded: boolean];

/** How long the answer may take that a message deserves, and how long is waited for one that none deserves. */
const LIMIT_MS = { answered: 10_000, silent: 400 };

const settled = (last: () => number, limitMs: number): Promise<void> =>
  until(() => last() >= 200, limitMs).catch(() => undefined);

const random = (): number => 1 + Math.floor(Math.random() * 250);

/** Sends the bytes as they are, from an address to which the answer comes back whatever the Via says. */
export async function play(
  raw: string,
  lab: Lab,
  clock: FakeClock,
  deserves: keyof typeof LIMIT_MS = 'answered',
): Promise<Outcome> {
  const site = lab.sites[0]!;
  site.received.length = 0;
  const [, transport = 'UDP', port = '5060'] =
    /^v(?:ia)?\s*:[^\n]*?\/\s*(\w+)\s+(?:\[[^\]]*\]|[\w.-]+)(?:\s*:\s*(\d+))?/im.exec(raw) ?? [];
  let status = 0;
  if (/tcp/i.test(transport)) {
    const peer = await TcpPeer.open(lab.us);
    peer.send(raw);
    const last = (): number => Number([...peer.data.matchAll(/^SIP\/2\.0 (\d+)/gm)].at(-1)?.[1] ?? 0);
    await settled(last, LIMIT_MS[deserves]);
    status = last();
    peer.close();
  } else {
    const peer = await UdpPeer.open(`127.${random()}.${random()}.${random()}`, Number(port));
    peer.send(raw, lab.us);
    const last = (): number => peer.received.filter(({ kind }) => kind === 'response').at(-1)?.status ?? 0;
    await settled(last, LIMIT_MS[deserves]);
    status = last();
    await peer.close();
  }
  clock.advance(200_000);
  return [status, site.received.length > 0];
}
