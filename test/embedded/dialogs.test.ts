import { FakeClock } from './fake-clock';
import { openLab, type Lab } from './lab';
import { answerTo, pause, requestOf, until, type UdpPeer } from './sip-peer';
import type { AppDialog, AppMessage, AppRequest, AppResponse } from './srf-app';
import type { SipMessage } from '../../plugin/message/sip-message';

const SDP = 'v=0\r\no=- 1 1 IN IP4 192.0.2.1\r\ns=-\r\nt=0 0\r\n';

const ignore = (): void => undefined;

const lastOf = (peer: UdpPeer, method: string): SipMessage =>
  peer.received.filter((message) => message.method === method).at(-1)!;
const answersTo = (peer: UdpPeer, method: string): number[] =>
  peer.received
    .filter(({ kind, cseq }) => kind === 'response' && cseq?.method === method)
    .map((m) => m.status);

describe('a dialog the network opens (createUAS)', () => {
  let lab: Lab;
  let clock: FakeClock;
  let dialog: AppDialog | undefined;
  const heard: string[] = [];
  let answer: (req: AppRequest, res: AppResponse) => void;

  beforeEach(async () => {
    dialog = undefined;
    heard.length = 0;
    clock = new FakeClock();
    answer = (req, res) => {
      void lab.srf.createUAS(req, res, { localSdp: SDP }).then((uas) => {
        dialog = uas;
        uas.on('ack', () => heard.push('ack'));
        uas.on('destroy', (_bye: AppRequest, reason: string) => heard.push(`destroy ${reason}`));
        uas.on('modify', (_req: AppRequest, modify: AppResponse) => {
          heard.push('modify');
          modify.send(200, { body: SDP });
        });
        uas.on('info', (req2: AppRequest, info: AppResponse) => {
          heard.push(`info ${req2.body}`);
          info.send(200);
        });
      }, ignore);
    };
    lab = await openLab(
      (srf) => {
        srf.invite((req, res) => answer(req, res));
        srf.subscribe((req, res) => answer(req, res));
      },
      { clock },
    );
  });
  afterEach(() => lab.close());

  const contact = (): string => `Contact: <sip:1001@${lab.phone.host}>`;
  const call = async (callId: string): Promise<string> => {
    lab.phone.send(
      requestOf('INVITE', 'sip:us@example.com', lab.phone.host, {
        callId,
        lines: [contact(), 'Content-Type: application/sdp'],
        body: SDP,
      }),
      lab.us,
    );
    await until(() => answersTo(lab.phone, 'INVITE').includes(200));
    const ok = lab.phone.received.find(({ status }) => status === 200)!;
    return /tag=(\w+)/.exec(ok.get('to') ?? '')?.[1] ?? '';
  };
  const inside = (
    method: string,
    callId: string,
    toTag: string,
    cseq: number,
    more: string[] = [],
    body = '',
  ) =>
    requestOf(method, `sip:${lab.us.address}:${lab.us.port}`, lab.phone.host, {
      callId,
      toTag,
      cseq,
      lines: more,
      body,
    });

  it('lives from INVITE to BYE, with everything in between', async () => {
    const tag = await call('uas-1');
    const ok = lab.phone.received.find(({ status }) => status === 200)!;
    expect(ok.contacts[0]?.uri).toBe(`sip:${lab.us.address}:${lab.us.port}`);
    expect(ok.get('content-type')).toBe('application/sdp');
    lab.phone.send(inside('ACK', 'uas-1', tag, 1), lab.us);
    await until(() => heard.includes('ack') && dialog !== undefined);
    lab.phone.send(inside('INFO', 'uas-1', tag, 2, ['Content-Type: text/plain'], 'hello'), lab.us);
    await until(() => answersTo(lab.phone, 'INFO').length > 0);
    lab.phone.send(
      inside('INVITE', 'uas-1', tag, 3, [contact(), 'Content-Type: application/sdp'], `${SDP}a=x\r\n`),
      lab.us,
    );
    await until(() => answersTo(lab.phone, 'INVITE').filter((status) => status === 200).length === 2);
    lab.phone.send(inside('ACK', 'uas-1', tag, 3), lab.us);
    // Ours: INFO, re-INVITE, each with its CSeq, our Contact and the route back.
    lab.phone.answerWith(200, [contact(), 'Content-Type: application/sdp'], SDP);
    const reply = await dialog!.request({ method: 'INFO', body: 'x', headers: { 'Content-Type': 'a/b' } });
    expect(reply.status).toBe(200);
    await dialog!.modify(SDP);
    await until(() => lab.phone.received.at(-1)?.method === 'ACK');
    expect(lastOf(lab.phone, 'INFO')).toMatchObject({
      uri: `sip:1001@${lab.phone.host}`,
      cseq: { number: 1 },
    });
    expect(lastOf(lab.phone, 'ACK').cseq).toEqual(
      lastOf(lab.phone, 'INVITE').cseq && { number: 2, method: 'ACK' },
    );
    lab.phone.onMessage = undefined;
    lab.phone.send(inside('BYE', 'uas-1', tag, 4), lab.us);
    await until(() => answersTo(lab.phone, 'BYE').length > 0);
    expect(answersTo(lab.phone, 'BYE')).toEqual([200]);
    expect(heard).toEqual(['ack', 'info hello', 'modify', 'ack', 'destroy normal release']);
    expect(lab.server.counts().dialogs).toBe(0);
    lab.phone.send(inside('INFO', 'uas-1', tag, 5), lab.us);
    await until(() => lab.server.counts().received > 6);
  });

  it('repeats its 200 until the ACK, and hangs up when none comes', async () => {
    await call('uas-2');
    clock.advance(500);
    clock.advance(1_000);
    await until(() => answersTo(lab.phone, 'INVITE').filter((status) => status === 200).length === 3);
    clock.advance(31_000);
    await until(() => lab.phone.received.some(({ method }) => method === 'BYE') && heard.length > 0);
    expect(heard).toEqual(['destroy ACK timeout']);
    expect(lab.server.counts().dialogs).toBe(0);
  });

  it('sends to the packet’s source when the Contact is a private address', async () => {
    lab.phone.send(
      requestOf('INVITE', 'sip:us@example.com', '192.0.2.33:5060', {
        callId: 'uas-3',
        lines: ['Contact: <sip:1001@192.0.2.33:5060>', 'Content-Type: application/sdp'],
        body: SDP,
      }),
      lab.us,
    );
    await until(() => dialog !== undefined);
    lab.phone.answerWith(200);
    await dialog!.destroy();
    expect(lastOf(lab.phone, 'BYE').uri).toBe('sip:1001@192.0.2.33:5060');
    expect(lab.server.counts().dialogs).toBe(0);
  });

  it('follows the Record-Route of the request that opened it', async () => {
    lab.phone.send(
      requestOf('INVITE', 'sip:us@example.com', lab.phone.host, {
        callId: 'uas-4',
        lines: [
          `Record-Route: <sip:${lab.sites[0]!.host};lr>, <sip:far.example.com;lr>`,
          'Contact: <sip:1001@192.0.2.33>',
          'Content-Type: application/sdp',
        ],
        body: SDP,
      }),
      lab.us,
    );
    await until(() => dialog !== undefined);
    expect(lab.phone.received.at(-1)?.list('record-route')).toHaveLength(2);
    lab.sites[0]!.answerWith(200);
    await dialog!.destroy();
    expect(lastOf(lab.sites[0]!, 'BYE').list('route')).toEqual([
      `<sip:${lab.sites[0]!.host};lr>`,
      '<sip:far.example.com;lr>',
    ]);
  });

  it('refuses what comes out of order, and what belongs to no dialog (H29)', async () => {
    const tag = await call('uas-5');
    lab.phone.send(inside('ACK', 'uas-5', tag, 1), lab.us);
    await until(() => heard.includes('ack'));
    lab.phone.send(inside('INFO', 'uas-5', tag, 1), lab.us);
    lab.phone.send(inside('INVITE', 'uas-5', 'wrong', 2), lab.us);
    lab.phone.send(inside('BYE', 'other', tag, 2), lab.us);
    await until(() => answersTo(lab.phone, 'BYE').length > 0);
    expect(answersTo(lab.phone, 'INFO')).toEqual([500]);
    expect(answersTo(lab.phone, 'INVITE').at(-1)).toBe(481);
    expect(answersTo(lab.phone, 'BYE')).toEqual([481]);
  });

  it('tells two calls apart by the last character of a long Call-ID (H30)', async () => {
    const id = 'x'.repeat(299);
    const tag = await call(`${id}a`);
    lab.phone.received.length = 0;
    await call(`${id}b`);
    expect(lab.server.counts().dialogs).toBe(2);
    lab.phone.send(inside('BYE', `${id}a`, tag, 2), lab.us);
    await until(() => answersTo(lab.phone, 'BYE').length > 0);
    expect(answersTo(lab.phone, 'BYE')).toEqual([200]);
  });

  it('opens once when the INVITE comes by two ways', async () => {
    const tag = await call('uas-8');
    lab.phone.received.length = 0;
    lab.phone.send(
      requestOf('INVITE', 'sip:us@example.com', lab.phone.host, { callId: 'uas-8', lines: [contact()] }),
      lab.us,
    );
    await until(() => answersTo(lab.phone, 'INVITE').includes(482));
    lab.phone.send(inside('ACK', 'uas-8', tag, 1), lab.us);
    await until(() => heard.includes('ack'));
    expect(lab.server.counts().dialogs).toBe(1);
  });

  it('sends provisional answers reliably when the application asks, until the PRACK', async () => {
    let pracked = 0;
    answer = (req, res) => {
      if (req.method === 'PRACK') return;
      res.send(
        183,
        'Session Progress',
        { headers: { Require: '100rel' }, body: SDP },
        () => undefined,
        () => (pracked += 1),
      );
    };
    lab.srf.use('prack', (_req, res) => res.send(200));
    await pause(20);
    lab.phone.send(
      requestOf('INVITE', 'sip:us@example.com', lab.phone.host, {
        callId: 'uas-6',
        lines: [contact(), 'Supported: 100rel'],
      }),
      lab.us,
    );
    await until(() => answersTo(lab.phone, 'INVITE').includes(183));
    const progress = lab.phone.received.at(-1)!;
    const sequence = progress.get('rseq')!;
    expect(Number(sequence)).toBeGreaterThan(0);
    clock.advance(500);
    await until(() => answersTo(lab.phone, 'INVITE').filter((status) => status === 183).length === 2);
    const tag = /tag=(\w+)/.exec(progress.get('to') ?? '')?.[1] ?? '';
    lab.phone.send(inside('PRACK', 'uas-6', tag, 2, [`RAck: ${sequence} 1 INVITE`]), lab.us);
    await until(() => pracked === 1 && answersTo(lab.phone, 'PRACK').includes(200));
    clock.advance(5_000);
    await pause(20);
    expect(answersTo(lab.phone, 'INVITE').filter((status) => status === 183)).toHaveLength(2);
    // CANCEL leaves nothing behind.
    const cancel = requestOf('CANCEL', 'sip:us@example.com', lab.phone.host, { callId: 'uas-6' });
    const branch = /branch=([^;\r]+)/.exec(progress.get('via') ?? '')?.[1] ?? '';
    lab.phone.send(cancel.replace(/branch=[^\r]+/, `branch=${branch}`), lab.us);
    await until(() => answersTo(lab.phone, 'INVITE').includes(487));
    expect(lab.server.counts()).toMatchObject({ dialogs: 0, pending: 0 });
  });

  it('carries a subscription, and ends with its last NOTIFY', async () => {
    lab.phone.send(
      requestOf('SUBSCRIBE', 'sip:us@example.com', lab.phone.host, {
        callId: 'uas-7',
        lines: [contact(), 'Event: presence', 'Expires: 60'],
      }),
      lab.us,
    );
    await until(() => dialog !== undefined);
    expect(answersTo(lab.phone, 'SUBSCRIBE')).toEqual([202]);
    lab.phone.answerWith(200);
    const headers = { Event: 'presence', 'Subscription-State': 'active;expires=60' };
    expect((await dialog!.request({ method: 'NOTIFY', headers })).status).toBe(200);
    expect(lab.server.counts().dialogs).toBe(1);
    await dialog!.request({ method: 'NOTIFY', headers: { ...headers, 'Subscription-State': 'terminated' } });
    expect(lab.server.counts().dialogs).toBe(0);
  });
});

describe('a dialog an application opens (createUAC)', () => {
  let lab: Lab;
  let site: UdpPeer;
  const clock = new FakeClock();

  beforeEach(async () => {
    lab = await openLab((srf) => srf.notify((_req, res) => res.send(200)), { clock });
    site = lab.sites[0]!;
  });
  afterEach(() => lab.close());

  const ok = (): string[] => [`Contact: <sip:1002@${site.host}>`, 'Content-Type: application/sdp'];

  it('is acknowledged, also when the 200 comes again, and ends by either side', async () => {
    const rings: number[] = [];
    site.onMessage = (message, from) => {
      if (message.method === 'INVITE') {
        site.send(answerTo(message, 180), from);
        site.send(answerTo(message, 200, ok(), SDP), from);
      } else if (message.method !== 'ACK' && message.kind === 'request')
        site.send(answerTo(message, 200), from);
    };
    const dialog = await lab.srf.createUAC(
      `sip:1002@${site.host}`,
      { localSdp: SDP, headers: { From: '<sip:1001@example.com>;tag=mine', To: '<sip:1002@example.com>' } },
      { cbProvisional: (res: AppMessage) => rings.push(res.status) },
    );
    expect(rings).toEqual([180]);
    await until(() => site.received.some(({ method }) => method === 'ACK'));
    expect(dialog.sip).toMatchObject({ localTag: 'mine', remoteTag: 'peer' });
    site.send(answerTo(lastOf(site, 'INVITE'), 200, ok(), SDP), lab.us);
    await until(() => site.received.filter(({ method }) => method === 'ACK').length === 2);
    const [first, second] = site.received.filter(({ method }) => method === 'ACK');
    expect(second?.raw).toBe(first?.raw);
    expect(first).toMatchObject({ uri: `sip:1002@${site.host}`, cseq: { number: 1, method: 'ACK' } });
    expect(first?.via?.branch).not.toBe(lastOf(site, 'INVITE').via?.branch);
    // A second fork's 200 is released by the server.
    const other = answerTo(lastOf(site, 'INVITE'), 200, ok(), SDP).replace('tag=peer', 'tag=other');
    site.send(other, lab.us);
    await until(() => site.received.some(({ method, to }) => method === 'BYE' && to?.text.includes('other')));
    await dialog.destroy();
    expect(lastOf(site, 'BYE').get('to')).toContain('tag=peer');
    expect(lab.server.counts()).toMatchObject({ dialogs: 0, own: 0 });
    await expect(dialog.request({ method: 'INFO' })).rejects.toMatchObject({ code: 'ENODIALOG' });
  });

  it('hears of the other side’s BYE right behind its 200', async () => {
    site.onMessage = (message, from) => {
      if (message.method !== 'INVITE') return;
      site.send(answerTo(message, 200, ok(), SDP), from);
      const tag = /tag=([^;]+)/.exec(message.get('from') ?? '')?.[1] ?? '';
      const bye = requestOf('BYE', 'sip:us', site.host, {
        callId: message.callId!,
        fromTag: 'peer',
        toTag: tag,
      });
      site.send(bye, from);
    };
    let destroyed = false;
    await new Promise<void>((resolve, reject) => {
      (lab.srf.createUAC as unknown as (...args: unknown[]) => void)(
        `sip:1002@${site.host}`,
        { localSdp: SDP },
        {},
        (error: Error | null, dialog: AppDialog) => {
          if (error) {
            reject(error);
            return;
          }
          dialog.on('destroy', () => {
            destroyed = true;
            resolve();
          });
        },
      );
    });
    expect(destroyed).toBe(true);
    expect(lab.server.counts().dialogs).toBe(0);
  });

  it('hears the refusal, which the server acknowledges', async () => {
    site.answerWith(486);
    await expect(lab.srf.createUAC(`sip:1002@${site.host}`, { localSdp: SDP })).rejects.toMatchObject({
      status: 486,
    });
    await until(() => site.received.some(({ method }) => method === 'ACK'));
    await pause(20);
    expect(site.received.filter(({ method }) => method === 'ACK')).toHaveLength(1);
    expect(lab.server.counts().dialogs).toBe(0);
  });

  it('sends the PRACK of a reliable provisional answer', async () => {
    site.onMessage = (message, from) => {
      if (message.method === 'INVITE')
        site.send(answerTo(message, 183, [...ok(), 'Require: 100rel', 'RSeq: 7'], SDP), from);
      if (message.method === 'PRACK') {
        site.send(answerTo(message, 200), from);
        site.send(answerTo(site.received[0]!, 200, ok(), SDP), from);
      }
    };
    const dialog = await lab.srf.createUAC(`sip:1002@${site.host}`, { localSdp: SDP });
    expect(lastOf(site, 'PRACK').get('rack')).toMatch(/^7 \d+ INVITE$/);
    expect(lastOf(site, 'PRACK').get('to')).toContain('tag=peer');
    await until(() => site.received.some(({ method }) => method === 'ACK'));
    expect(lastOf(site, 'ACK').cseq?.number).toBe(lastOf(site, 'INVITE').cseq?.number);
    site.answerWith(200);
    await dialog.destroy();
  });

  it('takes a NOTIFY that overtakes the answer to its SUBSCRIBE', async () => {
    const seen: string[] = [];
    lab.srf.use('notify', (req) => seen.push(req.stackDialogId));
    site.onMessage = (message, from) => {
      if (message.method !== 'SUBSCRIBE') return;
      const tag = /tag=([^;]+)/.exec(message.get('from') ?? '')?.[1] ?? '';
      site.send(
        requestOf('NOTIFY', 'sip:us', site.host, {
          callId: message.callId!,
          fromTag: 'peer',
          toTag: tag,
          lines: [`Contact: <sip:1002@${site.host}>`, 'Event: presence', 'Subscription-State: active'],
        }),
        from,
      );
      setTimeout(() => site.send(answerTo(message, 200, [`Contact: <sip:1002@${site.host}>`]), from), 30);
    };
    const dialog = await lab.srf.createUAC(`sip:1002@${site.host}`, {
      method: 'SUBSCRIBE',
      headers: { Event: 'presence', Expires: '60' },
    });
    expect(answersTo(site, 'NOTIFY')).toEqual([200]);
    expect(dialog.id).toContain(';from-tag=');
    expect(lab.server.counts().dialogs).toBe(1);
  });

  it('releases a 200 that comes for an abandoned INVITE', async () => {
    site.onMessage = (message, from) => {
      if (message.method === 'CANCEL') site.send(answerTo(message, 200), from);
    };
    lab.srf.request(`sip:1002@${site.host}`, { method: 'INVITE', body: SDP }, (_error, sent) => {
      (sent as unknown as { cancel(options: object): void }).cancel({ headers: { 'X-Dsbc-Abandon': 'yes' } });
    });
    await until(() => site.received.length === 1);
    await pause(30);
    site.send(answerTo(site.received[0]!, 180), lab.us);
    await until(() => site.received.some(({ method }) => method === 'CANCEL'));
    site.send(answerTo(site.received[0]!, 200, ok(), SDP), lab.us);
    await until(() => site.received.some(({ method }) => method === 'BYE'));
    expect(site.received.map(({ method }) => method)).toEqual(['INVITE', 'CANCEL', 'ACK', 'BYE']);
  });
});
