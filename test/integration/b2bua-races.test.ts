import { agreeWith, BridgedLab, SDP, sdp } from '../fixtures/bridged-lab';
import { sipServerKind } from '../fixtures/sip-server';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const isEmbedded = sipServerKind === 'embedded';
const NOTHING = { bridges: 0, legs: 0, carrying: 0 };

describe(`two dialogs and requests that cross each other, ${sipServerKind}`, () => {
  let bridged: BridgedLab;
  beforeAll(async () => {
    bridged = await BridgedLab.start();
  });
  afterEach(async () => {
    await bridged.tidy();
    expect(bridged.lab.server.alive).toBe(true);
  });
  afterAll(() => bridged.stop());

  const reliable = [['Require', '100rel'], ['RSeq', '7'], ...sdp.headers] as const;
  const ringing = async (isReliable: boolean) => {
    const site = await bridged.lab.site(({ message }) =>
      message.method === 'INVITE'
        ? [
            isReliable ? { status: 183, headers: reliable, body: SDP } : { status: 183, ...sdp },
            { status: 200, afterMs: 600 },
          ]
        : { status: 200, headers: [['X-From', 'site'], ...sdp.headers], body: SDP },
    );
    bridged.relayTo([site]);
    const device = await bridged.lab.device();
    agreeWith(device, SDP);
    const invite = await device.request({
      method: 'INVITE',
      headers: [['Supported', '100rel'], ['Allow', 'INVITE, UPDATE, PRACK'], ...sdp.headers],
      body: SDP,
    });
    const progress = await invite.answer(183);
    const atSite = await site.waitForRequest('INVITE');
    if (isReliable) {
      const rack = `${progress.message.get('rseq')!} 1 INVITE`;
      const prack = await device.inDialog('PRACK', invite, progress, 2, device.server, [['RAck', rack]]);
      expect((await prack.final()).message.status).toBe(200);
      await site.waitForRequest('PRACK');
    }
    return { site, device, invite, progress, atSite };
  };

  it('an UPDATE of the caller crosses before the call is answered (RFC 3311 §5)', async () => {
    const { site, device, invite, progress } = await ringing(true);
    const update = await device.inDialog('UPDATE', invite, progress, 3, device.server, [['X-Up', '1']]);
    const said = (await update.final()).message;
    expect(said).toMatchObject({ status: 200, body: SDP });
    expect(said.get('x-from')).toBe('site');
    expect((await site.waitForRequest('UPDATE')).message.get('x-up')).toBe('1');
    const answer = await invite.answer(200);
    await device.ack(invite, answer);
    expect((await (await device.inDialog('BYE', invite, answer, 4)).final()).message.status).toBe(200);
    await site.waitForRequest('BYE');
    await bridged.until(() => bridged.left.legs === 0);
    expect(bridged.left).toEqual(NOTHING);
  });

  it('an UPDATE of the called side crosses before the call is answered, or is told to come again', async () => {
    const { site, device, invite, atSite } = await ringing(true);
    const update = await site.inDialog(atSite, 'UPDATE', 1, {
      headers: [['X-Up', '2'], ...sdp.headers],
      body: SDP,
    });
    const said = (await update.final()).message;
    // drachtio-server knows the caller's leg only from its 200 on.
    expect(said.status).toBe(isEmbedded ? 200 : 500);
    if (isEmbedded) {
      expect(said.body).toBe(SDP);
      expect((await device.waitForRequest('UPDATE')).message.get('x-up')).toBe('2');
    } else {
      expect(said.get('retry-after')).toBeDefined();
    }
    const answer = await invite.answer(200);
    await device.ack(invite, answer);
    expect((await (await device.inDialog('BYE', invite, answer, 4)).final()).message.status).toBe(200);
  });

  it('a caller that hangs up while it rings ends the call', async () => {
    const { site, device, invite, progress } = await ringing(isEmbedded ? false : true);
    const bye = await device.inDialog('BYE', invite, progress, 3);
    expect((await bye.final()).message.status).toBe(200);
    if (isEmbedded) expect((await invite.final()).message.status).toBe(487);
    await bridged.until(() => site.cancelledCalls.length > 0);
    expect(site.cancelledCalls).toHaveLength(1);
    await bridged.until(() => bridged.left.legs === 0 && bridged.left.carrying === 0);
    expect(bridged.left).toEqual(NOTHING);
  });

  it('a CANCEL of a re-INVITE reaches the other side, and the call goes on as it was', async () => {
    const call = await bridged.establish(({ message }) => {
      if (message.method !== 'INVITE') return { status: 200 };
      return message.to?.params.length === 0 ? { status: 200, ...sdp } : [{ status: 100 }];
    });
    const { device, site, invite, answer } = call;
    const reinvite = await device.inDialog('INVITE', invite, answer, 2, device.server, [
      ['Contact', `<sip:1001@${device.hostport}>`],
    ]);
    await site.waitFor(({ message }) => message.method === 'INVITE' && message.to?.params.length !== 0);
    await pause(50);
    await reinvite.cancel();
    expect((await reinvite.final()).message.status).toBe(487);
    await site.waitForRequest('CANCEL');
    const info = await device.inDialog('INFO', invite, answer, 3);
    expect((await info.final()).message.status).toBe(200);
    expect(bridged.left).toMatchObject({ bridges: 1, legs: 2 });
    await (await device.inDialog('BYE', invite, answer, 4)).final();
    await site.waitForRequest('BYE');
  });

  it('a hang-up ends a re-INVITE that waits for its answer, on both sides', async () => {
    const call = await bridged.establish(({ message }) => {
      if (message.method !== 'INVITE') return { status: 200 };
      return message.to?.params.length === 0 ? { status: 200, ...sdp } : [{ status: 100 }];
    });
    const { device, site, invite, answer, atSite } = call;
    const before = bridged.lab.link.load.clientTransactions;
    const reinvite = await device.inDialog('INVITE', invite, answer, 2, device.server, [
      ['Contact', `<sip:1001@${device.hostport}>`],
    ]);
    await site.waitFor(({ message }) => message.method === 'INVITE' && message.to?.params.length !== 0);
    const bye = await site.inDialog(atSite, 'BYE', 1);
    expect((await bye.final()).message.status).toBe(200);
    await device.waitForRequest('BYE');
    expect([481, 487, 500]).toContain((await reinvite.final()).message.status);
    await bridged.until(() => bridged.lab.link.load.clientTransactions <= before);
    expect(bridged.left).toEqual(NOTHING);
    expect(bridged.lab.link.load.clientTransactions).toBeLessThanOrEqual(before);
  });

  it('a re-INVITE does not overtake the ACK the other side waits for', async () => {
    const site = await bridged.lab.site(({ message }) =>
      message.method === 'INVITE' ? { status: 200, ...sdp } : { status: 200 },
    );
    bridged.relayTo([site]);
    const device = await bridged.lab.device();
    const invite = await device.request({ method: 'INVITE' });
    const answer = await invite.answer(200);
    await bridged.until(() => bridged.left.bridges === 1);
    // Its ACK is lost; it goes on as if it had arrived.
    const reinvite = await device.inDialog('INVITE', invite, answer, 2, device.server, [
      ['Contact', `<sip:1001@${device.hostport}>`],
    ]);
    expect((await reinvite.final()).message.status).toBe(491);
    expect(site.count('INVITE')).toBe(1);
    await device.ack(invite, answer);
    expect((await site.waitForRequest('ACK')).message.cseq!.number).toBe(
      site.received[0]!.message.cseq!.number,
    );
    await (await device.inDialog('BYE', invite, answer, 3)).final();
    await site.waitForRequest('BYE');
  });

  it('the ACK has the number of its INVITE, whatever was sent in between', async () => {
    const call = await bridged.establish();
    const { device, site, invite, answer } = call;
    const reinvite = await device.inDialog('INVITE', invite, answer, 2, device.server, [
      ['Contact', `<sip:1001@${device.hostport}>`],
    ]);
    const again = await reinvite.final();
    await (await device.inDialog('INFO', invite, answer, 3)).final();
    await device.ack(reinvite, again);
    await pause(100);
    const numbers = site.received
      .filter(({ message }) => message.method === 'INVITE' || message.method === 'ACK')
      .map(({ message }) => message.cseq!.number);
    expect(new Set(numbers).size).toBe(2);
    await (await device.inDialog('BYE', invite, answer, 4)).final();
  });

  it('repeats its ACK of a re-INVITE when the 200 comes again', async () => {
    const call = await bridged.establish();
    const { device, site, invite, answer } = call;
    const reinvite = await device.inDialog('INVITE', invite, answer, 2, device.server, [
      ['Contact', `<sip:1001@${device.hostport}>`],
      ['Content-Type', 'application/sdp'],
    ]);
    await device.ack(reinvite, await reinvite.final());
    const atSite = await site.waitFor(
      ({ message }) => message.method === 'INVITE' && message.to?.params.length !== 0,
    );
    const acks = (): number =>
      site.received.filter(
        ({ message }) => message.method === 'ACK' && message.cseq!.number === atSite.message.cseq!.number,
      ).length;
    await bridged.until(() => acks() > 0);
    const before = acks();
    // As if
    site.respond(atSite, { status: 200, ...sdp });
    await bridged.until(() => acks() > before);
    expect(acks()).toBeGreaterThan(before);
    await (await device.inDialog('BYE', invite, answer, 3)).final();
  });

  (isEmbedded ? it : it.skip)('a BYE nobody answers in time leaves no dialog in the server', async () => {
    const site = await bridged.lab.site(({ message }) =>
      message.method === 'INVITE' ? { status: 200, ...sdp } : undefined,
    );
    const opening = bridged.lab.link.openDialog({
      method: 'INVITE',
      uri: 'sip:1002@example.com',
      headers: [['From', '<sip:a@example.com>;tag=1'], ['To', '<sip:b@example.com>'], ...sdp.headers],
      body: SDP,
      nextHop: site.uri,
      timeoutMs: 5000,
    });
    const outcome = await opening.outcome;
    if (outcome.kind !== 'opened') throw new Error(outcome.kind);
    outcome.dialog.acknowledge();
    const before = bridged.lab.server.embedded!.counts().dialogs;
    expect(await outcome.dialog.request({ method: 'BYE', headers: [], timeoutMs: 200 })).toEqual({
      kind: 'timeout',
    });
    await bridged.until(() => bridged.lab.server.embedded!.counts().dialogs < before);
    expect(bridged.lab.server.embedded!.counts().dialogs).toBe(before - 1);
  });
});
