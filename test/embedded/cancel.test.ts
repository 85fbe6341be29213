import { answerTo, pause, requestOf, until } from './sip-peer';
import { FakeClock } from './fake-clock';
import { openLab, type Lab } from './lab';
import type { AppRequest } from './srf-app';

/** The CANCEL of a request, as its sender writes it. */
const cancelOf = (invite: string): string =>
  invite.replace(/^INVITE/, 'CANCEL').replace(/CSeq: (\d+) INVITE/, 'CSeq: $1 CANCEL');

describe('CANCEL', () => {
  let lab: Lab;
  let settled: number;
  let cancelled: number;
  const clock = new FakeClock();
  let handle: (req: AppRequest) => void;

  const proxy = (req: AppRequest): void => {
    void lab.srf.proxyRequest(req, [lab.target(0)]).then(() => (settled += 1));
  };

  beforeEach(async () => {
    settled = 0;
    cancelled = 0;
    handle = proxy;
    lab = await openLab(
      (srf) =>
        srf.invite((req) => {
          req.on('cancel', () => (cancelled += 1));
          handle(req);
        }),
      { clock },
    );
  });
  afterEach(() => lab.close());

  const answers = (method: string): number[] =>
    lab.phone.received.filter(({ cseq }) => cseq?.method === method).map(({ status }) => status);
  const seen = (method: string): number =>
    lab.sites[0]!.received.filter((message) => message.method === method).length;

  it('H14: sent twice gets its 200 twice, one 487, and one CANCEL at the site', async () => {
    const [site] = lab.sites;
    site!.onMessage = (message, from) => {
      if (message.method === 'INVITE') {
        site!.send(answerTo(message, 180), from);
      } else if (message.method === 'CANCEL') {
        site!.send(answerTo(message, 200), from);
        site!.send(answerTo(site!.received[0]!, 487), from);
      }
    };
    const invite = requestOf('INVITE', 'sip:1002@example.com', lab.phone.host);
    lab.phone.send(invite, lab.us);
    await until(() => answers('INVITE').includes(180));
    lab.phone.send(cancelOf(invite), lab.us);
    lab.phone.send(cancelOf(invite), lab.us);
    await until(() => answers('INVITE').includes(487) && answers('CANCEL').length === 2 && settled === 1);
    await pause(50);
    expect(answers('CANCEL')).toEqual([200, 200]);
    expect(answers('INVITE')).toEqual([100, 180, 487]);
    expect(seen('CANCEL')).toBe(1);
    expect(seen('ACK')).toBe(1);
  });

  it('before the application decided ends the request, and the application hears of it', async () => {
    const held: AppRequest[] = [];
    handle = (req) => held.push(req);
    const invite = requestOf('INVITE', 'sip:1002@example.com', lab.phone.host);
    lab.phone.send(invite, lab.us);
    await until(() => held.length === 1);
    lab.phone.send(cancelOf(invite), lab.us);
    await until(() => answers('INVITE').includes(487) && cancelled === 1);
    await expect(lab.srf.proxyRequest(held[0]!, [lab.target(0)])).rejects.toMatch(/Unknown transaction/);
    expect(seen('INVITE')).toBe(0);
    expect(lab.server.counts().pending).toBe(0);
  });

  it('before the site answered waits for its first answer, the caller does not', async () => {
    const invite = requestOf('INVITE', 'sip:1002@example.com', lab.phone.host);
    lab.phone.send(invite, lab.us);
    await until(() => seen('INVITE') === 1);
    lab.phone.send(cancelOf(invite), lab.us);
    await until(() => answers('INVITE').includes(487) && settled === 1);
    expect(seen('CANCEL')).toBe(0);
    lab.sites[0]!.send(answerTo(lab.sites[0]!.received[0]!, 180), lab.us);
    await until(() => seen('CANCEL') === 1);
    expect(answers('INVITE')).toEqual([100, 487]);
    // Too late to be undone: a 2xx still reaches the caller, who must end the call.
    lab.sites[0]!.send(answerTo(lab.sites[0]!.received[0]!, 200), lab.us);
    await until(() => answers('INVITE').includes(200));
  });

  it('of something unknown gets 481, again and again', async () => {
    const cancel = requestOf('CANCEL', 'sip:1002@example.com', lab.phone.host);
    lab.phone.send(cancel, lab.us);
    lab.phone.send(cancel, lab.us);
    await until(() => answers('CANCEL').length === 2);
    expect(answers('CANCEL')).toEqual([481, 481]);
  });

  it('that the site ignores ends after 64 × T1', async () => {
    lab.sites[0]!.onMessage = (message, from) => {
      if (message.method === 'INVITE') lab.sites[0]!.send(answerTo(message, 180), from);
    };
    const invite = requestOf('INVITE', 'sip:1002@example.com', lab.phone.host);
    lab.phone.send(invite, lab.us);
    await until(() => answers('INVITE').includes(180));
    lab.phone.send(cancelOf(invite), lab.us);
    await until(() => seen('CANCEL') >= 1);
    clock.advance(33_000);
    await until(() => answers('INVITE').includes(487) && settled === 1);
  });

  it('of the application’s own INVITE goes out once the far side has answered', async () => {
    lab.sites[0]!.onMessage = (message, from) => {
      if (message.method === 'CANCEL') lab.sites[0]!.send(answerTo(message, 200), from);
    };
    const heard: number[] = [];
    lab.srf.request(lab.target(0), { method: 'INVITE' }, (_error, sent) => {
      sent.on('response', (answer: { status: number }) => heard.push(answer.status));
      sent.cancel();
    });
    await until(() => seen('INVITE') === 1);
    await pause(30);
    expect(seen('CANCEL')).toBe(0);
    lab.sites[0]!.send(answerTo(lab.sites[0]!.received[0]!, 180), lab.us);
    await until(() => seen('CANCEL') === 1);
    lab.sites[0]!.send(answerTo(lab.sites[0]!.received[0]!, 487), lab.us);
    await until(() => heard.includes(487) && seen('ACK') === 1);
  });
});
