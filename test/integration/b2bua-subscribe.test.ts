import { agreeWith, BridgedLab } from '../fixtures/bridged-lab';
import type { FakeSite } from '../fixtures/fake-site';
import type { Received } from '../fixtures/sip-endpoint';
import { sipServerKind } from '../fixtures/sip-server';

const NOTHING = { bridges: 0, legs: 0, carrying: 0 };
const VICTIM = 'sip:victim@192.0.2.77:5060';

describe(`subscriptions as two dialogs, ${sipServerKind}`, () => {
  let bridged: BridgedLab;
  beforeAll(async () => {
    bridged = await BridgedLab.start();
  });
  afterEach(async () => {
    await bridged.tidy();
    expect(bridged.lab.server.alive).toBe(true);
  });
  afterAll(() => bridged.stop());

  /** Where a request of our own to the victim goes. */
  const sentToVictim = async (transport: 'udp' | 'tcp'): Promise<number> => {
    const victim = await bridged.lab.site();
    const outcome = await bridged.lab.link.request({
      method: 'MESSAGE',
      uri: VICTIM,
      nextHop: `${victim.uri};transport=${transport}`,
      headers: [
        ['From', '<sip:a@example.com>;tag=1'],
        ['To', '<sip:victim@192.0.2.77>'],
        ['Content-Type', 'text/plain'],
      ],
      body: 'secret',
      timeoutMs: 1500,
    });
    expect(outcome.kind).toBe('answer');
    return victim.count('MESSAGE');
  };

  /** The notifier says that it is over. */
  const endBy = async (site: FakeSite, subscribe: Received): Promise<void> => {
    await site.inDialog(subscribe, 'NOTIFY', 9, {
      headers: [
        ['Event', 'presence'],
        ['Subscription-State', 'terminated;reason=noresource'],
      ],
    });
    await bridged.until(() => bridged.left.legs === 0 && bridged.left.bridges === 0);
  };

  it.each([
    ['first', VICTIM, undefined],
    ['refreshing', undefined, VICTIM],
    ['every', VICTIM, VICTIM],
  ])(
    'an attacker’s %s SUBSCRIBE over TCP with somebody else’s Contact gives no hold on requests to that Contact',
    async (_which, first, refresh) => {
      const site = await bridged.lab.site(({ message }) =>
        message.method === 'SUBSCRIBE' ? { status: 202, headers: [['Expires', '600']] } : { status: 200 },
      );
      bridged.relayTo([site]);
      const attacker = await bridged.lab.device('tcp');
      agreeWith(attacker);
      const own = `sip:1001@${attacker.hostport};transport=tcp`;
      const event = [
        ['Event', 'presence'],
        ['Expires', '600'],
      ] as const;
      const subscribe = await attacker.request({
        method: 'SUBSCRIBE',
        contact: `<${first ?? own}>`,
        headers: event,
      });
      const answer = await subscribe.final();
      expect(answer.message.status).toBe(202);
      await bridged.until(() => bridged.left.carrying === 0);
      const again = await attacker.inDialog('SUBSCRIBE', subscribe, answer, 2, attacker.server, [
        ...event,
        ['Contact', `<${refresh ?? own}>`],
      ]);
      const refreshed = (await again.final()).message;
      expect([200, 202, 204]).toContain(refreshed.status);
      expect(refreshed.get('expires')).toBe('600');
      expect(await sentToVictim('udp')).toBe(1);
      expect(await sentToVictim('tcp')).toBe(1);
      expect(
        attacker.received
          .filter(({ message }) => message.kind === 'request')
          .map(({ message }) => message.method),
      ).toEqual([]);
      await endBy(site, await site.waitForRequest('SUBSCRIBE'));
      expect(bridged.left).toEqual(NOTHING);
    },
  );

  it('a notifier that forgot it ends it, and the subscriber is told', async () => {
    const site = await bridged.lab.site(({ message }) => {
      if (message.method !== 'SUBSCRIBE') return { status: 200 };
      const isFirst = message.to?.params.length === 0;
      return isFirst ? { status: 200, headers: [['Expires', '600']] } : { status: 481 };
    });
    bridged.relayTo([site]);
    const phone = await bridged.lab.device('udp');
    agreeWith(phone);
    const headers = [
      ['Event', 'presence'],
      ['Expires', '600'],
    ] as const;
    const subscribe = await phone.request({ method: 'SUBSCRIBE', headers });
    const answer = await subscribe.final();
    expect(answer.message.status).toBe(200);
    const again = await phone.inDialog('SUBSCRIBE', subscribe, answer, 2, phone.server, [
      ...headers,
      ['Contact', `<sip:1001@${phone.hostport}>`],
    ]);
    expect((await again.final()).message.status).toBe(481);
    const last = await phone.waitForRequest('NOTIFY');
    expect(last.message.get('subscription-state')).toBe('terminated;reason=noresource');
    expect(last.message.get('event')).toBe('presence');
    await bridged.until(() => bridged.left.legs === 0);
    expect(bridged.left).toEqual(NOTHING);
  });

  it('a watched call has the names its watcher can use: a pick-up by INVITE with Replaces finds it', async () => {
    // The watcher's site tells of the call as it knows it; the watcher knows only our names.
    const call = await bridged.establish();
    const site = await bridged.lab.site(({ message }) =>
      message.method === 'SUBSCRIBE' ? { status: 200, headers: [['Expires', '600']] } : { status: 486 },
    );
    bridged.relayTo([site]);
    const watcher = await bridged.lab.device('tcp');
    agreeWith(watcher);
    const headers = [
      ['Event', 'dialog'],
      ['Expires', '600'],
    ] as const;
    await (await watcher.request({ method: 'SUBSCRIBE', headers })).final();
    const subscribe = await site.waitForRequest('SUBSCRIBE');
    const far = call.atSite.message;
    const farTag = (await call.site.waitForRequest('ACK')).message.to!.params[0]![1]!;
    await site.inDialog(subscribe, 'NOTIFY', 1, {
      headers: [
        ['Event', 'dialog'],
        ['Subscription-State', 'active;expires=600'],
        ['Content-Type', 'application/dialog-info+xml'],
      ],
      body: `<dialog-info><dialog id="1" call-id="${far.callId!}" local-tag="${farTag}" remote-tag="${far.from!.params[0]![1]!}"/></dialog-info>`,
    });
    const told = (await watcher.waitForRequest('NOTIFY')).message.body;
    const attribute = (name: string): string => new RegExp(`${name}="([^"]*)"`).exec(told)![1]!;
    expect(attribute('call-id')).toBe(call.invite.callId);

    const replaces = `${attribute('call-id')};to-tag=${attribute('local-tag')};from-tag=${attribute('remote-tag')}`;
    const pickUp = await watcher.request({ method: 'INVITE', headers: [['Replaces', replaces]] });
    expect((await pickUp.final()).message.status).toBe(486);
    const atSite = (await site.waitForRequest('INVITE')).message;
    expect(atSite.get('replaces')).toBe(
      `${far.callId!};to-tag=${farTag};from-tag=${far.from!.params[0]![1]!}`,
    );
    await (await call.device.inDialog('BYE', call.invite, call.answer, 2)).final();
    await endBy(site, subscribe);
  });
});
