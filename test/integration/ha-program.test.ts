import { within, now, pause } from '../fixtures/ha/ha-lab';
import type { ServerKind } from '../fixtures/ha/program-lab';
import { ProgramLab, SipLoad, longestGap } from '../fixtures/ha/program-lab';
import type { Need } from '../fixtures/needs';
import { describeWith } from '../fixtures/needs';

const KINDS: readonly (readonly [ServerKind, readonly Need[]])[] = [
  ['embedded', ['netns']],
  ['drachtio', ['netns', 'drachtio']],
];

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
      const load = await SipLoad.start(lab.phoneHost, 40, ['REGISTER', 'INVITE']);
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
      const load = await SipLoad.start(lab.phoneHost, 40, ['INVITE']);
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

    if (kind === 'drachtio') {
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
