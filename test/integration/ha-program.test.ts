import { agreeWith, SDP, sdp } from '../fixtures/bridged-lab';
import type { Received } from '../fixtures/sip-endpoint';
import { within, now, pause } from '../fixtures/ha/ha-lab';
import type { ServerKind } from '../fixtures/ha/program-lab';
import { ProgramLab, SipLoad, longestGap } from '../fixtures/ha/program-lab';
import type { Need } from '../fixtures/needs';
import { describeWith } from '../fixtures/needs';

/** Load of scenarios 3 and 35. */
const CALLS_PER_SECOND = 200;

const KINDS: readonly (readonly [ServerKind, readonly Need[]])[] = [
  ['embedded', ['netns']],
  ['drachtio', ['netns', 'drachtio']],
];

/** What a phone behind NAT writes is not where it is. */
const UNREACHABLE = '<sip:1001@192.0.2.33:5060>';

for (const [kind, needs] of KINDS) {
  describeWith(needs, `the whole program in a group, ${kind} server`, () => {
    let lab: ProgramLab;
    beforeAll(async () => {
      lab = await ProgramLab.create(['a', 'b', 'c'], kind);
    }, 30_000);
    beforeEach(() => lab.settle(), 45_000);
    afterEach(() => SipLoad.endAll());
    afterAll(() => lab.close());

    it('3: SIGTERM under load: no registration and no call fails, the VIP moves at once', async () => {
      const load = await SipLoad.start(lab.phoneHost, CALLS_PER_SECOND, ['REGISTER', 'INVITE']);
      await pause(2000);
      const { active } = lab;
      const since = now();
      active.process?.signal('SIGTERM');
      await active.process?.ended();
      await pause(1500);
      const sent = await load.stop();
      expect(
        sent
          .filter(({ status }) => status !== 200)
          .map(({ status, text }) => `${status} ${text.slice(0, 8)}`),
      ).toEqual([]);
      within(`3 ${kind}`, 'gap of first tries', longestGap(sent, since - 200), 50);
    }, 40_000);

    it('35: rolling update of three under load: none lost', async () => {
      const load = await SipLoad.start(lab.phoneHost, CALLS_PER_SECOND, ['INVITE']);
      await pause(1000);
      let worst = 0;
      for (const each of [...lab.others, lab.active]) {
        const since = now();
        each.process?.signal('SIGTERM');
        await each.process?.ended();
        await pause(300);
        worst = Math.max(worst, longestGap(load.sent, since - 100, now() - 250));
        await each.launch();
        const until = now() + 10_000;
        while (each.state !== 'STANDBY' && now() < until) await pause(20);
        await pause(700);
      }
      const sent = await load.stop();
      const failed = sent.filter(({ status }) => status !== 200);
      expect(failed.slice(0, 5).map(({ status, sentAt }) => `${status} sent at ${sentAt}`)).toEqual([]);
      within(`35 ${kind}`, 'worst gap of first tries', worst, 50);
    }, 60_000);

    it('39: a call that rings when the active is killed is established when the callee answers', async () => {
      lab.site.script = ({ message }) => (message.method === 'INVITE' ? { status: 180 } : { status: 200 });
      const invite = await lab.phone.request({ method: 'INVITE' });
      await invite.answer(180);
      const arrived = await lab.site.waitFor(
        (one) => one.message.method === 'INVITE' && one.message.callId === invite.callId,
        5000,
      );
      const { active } = lab;
      await active.crash();
      const until = now() + 3000;
      while (!lab.instances.some((each) => each !== active && each.state === 'ACTIVE') && now() < until)
        await pause(10);
      await pause(200);
      lab.site.respond(arrived, { status: 200 });
      const answer = await invite.answer(200, 5000);
      expect(answer.message.callId).toBe(invite.callId);
      const { site } = lab;
      await lab.phone.ack(invite, answer, { address: site.address, port: site.port, transport: 'udp' });
      await site.waitFor((one) => one.message.method === 'ACK' && one.message.callId === invite.callId, 3000);
    }, 40_000);

    it('40: a phone behind NAT that registered through the killed one is called through the other', async () => {
      lab.site.script = ({ message }) => ({
        status: 200,
        headers:
          message.method === 'REGISTER' ? [['Contact', `${message.get('contact') ?? ''};expires=60`]] : [],
      });
      // What it writes is not where it is.
      const register = await lab.phone.request({ method: 'REGISTER', contact: '<sip:1001@192.0.2.33:5060>' });
      expect((await register.final()).message.status).toBe(200);
      const { message } = await lab.site.waitFor(
        (one) => one.message.method === 'REGISTER' && one.message.callId === register.callId,
        5000,
      );
      const path = message.get('path');
      expect(path).toBeDefined();
      const { active } = lab;
      await active.crash();
      const until = now() + 3000;
      while (!lab.instances.some((each) => each !== active && each.state === 'ACTIVE') && now() < until)
        await pause(10);
      await pause(200);
      const callId = `to-the-phone-${now()}`;
      const { site } = lab;
      await site.send(
        [
          'INVITE sip:1001@192.0.2.33:5060 SIP/2.0',
          `Via: SIP/2.0/UDP ${site.address}:${site.port};branch=z9hG4bK${callId};rport`,
          'Max-Forwards: 70',
          'From: <sip:1002@example.com>;tag=s1',
          'To: <sip:1001@example.com>',
          `Call-ID: ${callId}`,
          'CSeq: 1 INVITE',
          `Route: ${path ?? ''}`,
          `Contact: <sip:1002@${site.address}:${site.port}>`,
          'Content-Length: 0',
          '',
          '',
        ].join('\r\n'),
        { address: '198.51.100.10', port: 5060, transport: 'udp' },
      );
      const rung = await lab.phone.waitFor(
        (one) => one.message.kind === 'request' && one.message.method === 'INVITE',
        5000,
      );
      expect(rung.message.uri).toContain('1001@192.0.2.33');
    }, 40_000);

    if (kind === 'embedded') {
      it('41: calls of a phone behind NAT go on through the other one after the kill: re-INVITE and BYE, from each side', async () => {
        lab.site.script = () => ({ status: 200, ...sdp });
        agreeWith(lab.phone, SDP);
        const { phone, site } = lab;
        const calls = [];
        for (const who of ['phone', 'site']) {
          const invite = await phone.request({ method: 'INVITE', contact: UNREACHABLE, ...sdp });
          const answer = await invite.answer(200, 5000);
          await phone.ack(invite, answer);
          const ofCall = (method: string) => (one: Received) =>
            one.message.method === method && one.message.callId === invite.callId;
          const atSite = await site.waitFor(ofCall('INVITE'), 5000);
          await site.waitFor(ofCall('ACK'), 5000);
          calls.push({ who, invite, answer, atSite, ofCall });
        }
        const { active } = lab;
        await active.crash();
        const until = now() + 3000;
        while (!lab.instances.some((each) => each !== active && each.state === 'ACTIVE') && now() < until)
          await pause(10);
        await pause(200);
        for (const { who, invite, answer, atSite, ofCall } of calls) {
          const reinvite = await phone.inDialog('INVITE', invite, answer, 2, phone.server, [
            ['Contact', UNREACHABLE],
          ]);
          const again = await reinvite.final();
          expect(again.message.status).toBe(200);
          // Along the route set of the first answer: a re-INVITE does not change it.
          await phone.inDialog('ACK', invite, answer, 2);
          await site.waitFor((one) => ofCall('ACK')(one) && one.message.cseq!.number === 2, 5000);

          const back = await site.inDialog(atSite, 'INVITE', 1, sdp);
          expect((await back.final()).message.status).toBe(200);
          expect((await phone.waitFor(ofCall('INVITE'), 5000)).message.uri).toBe('sip:1001@192.0.2.33:5060');
          const ack = site.inDialog(atSite, 'ACK', 1);
          await phone.waitFor(ofCall('ACK'), 5000);
          await ack;

          const bye =
            who === 'phone'
              ? await phone.inDialog('BYE', invite, answer, 3)
              : await site.inDialog(atSite, 'BYE', 2);
          expect((await bye.final()).message.status).toBe(200);
          await (who === 'phone' ? site : phone).waitFor(ofCall('BYE'), 5000);
        }
      }, 60_000);
    }

    if (kind === 'drachtio') {
      it('a hand-over while a site answers OPTIONS slowly: no call is lost behind a 100', async () => {
        let asked = (): void => undefined;
        // INVITEs are answered so late that only OPTIONS tell that the site is there.
        lab.site.script = ({ message }) => {
          if (message.method !== 'OPTIONS') return { status: 200, afterMs: 1000 };
          asked();
          return { status: 200, afterMs: 60 };
        };
        const load = await SipLoad.start(lab.phoneHost, 40, ['INVITE']);
        await pause(300);
        const { active } = lab;
        // Those that wait for this OPTIONS are waiting when the addresses go.
        await new Promise<void>((resolve) => (asked = resolve));
        active.process?.signal('SIGTERM');
        await active.process?.ended();
        const failed = (await load.stop()).filter(({ status }) => status !== 200);
        expect(failed.map(({ status, trying }) => ({ status, trying }))).toEqual([]);
      }, 40_000);

      it('29: the SIP server of the active killed: hand-over', async () => {
        const { active } = lab;
        const since = now();
        active.server?.signal('SIGKILL');
        while (!lab.instances.some((each) => each !== active && each.state === 'ACTIVE')) {
          expect(now() - since).toBeLessThan(5000);
          await pause(5);
        }
        within('29 drachtio', 'hand-over', now() - since, 1000);
        await active.crash();
      }, 40_000);
    }
  });
}
