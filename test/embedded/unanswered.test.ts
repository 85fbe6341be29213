import type { EmbeddedOptions } from '../../plugin/embedded';
import { DEFAULT_LIMITS } from '../../plugin/embedded/limits';
import { TransactionLayer } from '../../plugin/embedded/transaction/transaction-layer';
import type { Flow } from '../../plugin/embedded/transport/flow';
import { parseMessage } from '../../plugin/message/parse';
import { FakeClock } from './fake-clock';
import { openLab, type Lab } from './lab';
import { answerTo, pause, requestOf, until } from './sip-peer';
import type { ProxyResult } from './srf-app';

describe('a proxied INVITE that gets no answer fit for its caller', () => {
  let lab: Lab;
  let clock: FakeClock;
  let results: ProxyResult[];

  const open = async (
    targets: (lab: Lab) => string[],
    options: object,
    more: Partial<EmbeddedOptions> = {},
  ) => {
    clock = new FakeClock();
    results = [];
    lab = await openLab(
      (srf) =>
        srf.invite((req) => {
          void srf.proxyRequest(req, targets(lab), options).then((result) => results.push(result));
        }),
      { sites: 2, clock, ...more },
    );
  };
  afterEach(() => lab.close());

  /** A site that leaves out all Vias but ours. */
  const spoil = (site: number, status: number): void => {
    const peer = lab.sites[site]!;
    peer.onMessage = (message, from) => {
      if (message.method !== 'INVITE') return;
      let vias = 0;
      const lines = answerTo(message, status).split('\r\n');
      peer.send(lines.filter((line) => !/^via:/i.test(line) || ++vias === 1).join('\r\n'), from);
    };
  };
  const call = (): void =>
    lab.phone.send(requestOf('INVITE', 'sip:1002@example.com', lab.phone.host), lab.us);
  const statuses = (): number[] => lab.phone.received.map(({ status }) => status);
  const both = (): string[] => [lab.target(0), lab.target(1)];
  const forgotten = async (): Promise<void> => {
    for (let second = 0; second < 80; second += 1) clock.advance(1_000);
    await until(() => {
      const { servers, clients, pending } = lab.server.counts();
      return servers + clients + pending === 0;
    });
    expect(lab.server.counts().abandoned).toBe(0);
  };

  it.each([401, 486, 503, 603])(
    'a %d without the caller’s Via is a 502, and nothing is left',
    async (status) => {
      await open(() => [lab.target(0)], {});
      spoil(0, status);
      call();
      await until(() => results.length > 0 && statuses().length === 2);
      expect(statuses()).toEqual([100, 502]);
      await until(() => lab.sites[0]!.received.some(({ method }) => method === 'ACK'));
      await forgotten();
    },
  );

  it('an answer with lines that cannot be read, and no reason, goes on without them', async () => {
    await open(both, { headers: { 'X-Dsbc-Failover': '408,503' } });
    const peer = lab.sites[0]!;
    peer.onMessage = (message, from) => {
      if (message.method !== 'INVITE') return;
      const lines = ['Digest username="90"', 'X-A: 1', 'X-B: 2\nX-C: 3', 'Expires: 1', 'Expires: 1'];
      peer.send(answerTo(message, 486, lines).replace(/^SIP.*?\r/, 'SIP/2.0 486\r'), from);
    };
    call();
    await until(() => results.length > 0 && statuses().length === 2);
    expect(statuses()).toEqual([100, 486]);
    expect(lab.phone.received[1]?.raw).toMatch(/^SIP\/2.0 486 \r\n(?:(?!Digest|X-B|X-C).)*X-A: 1\r\n/s);
    expect(lab.sites[1]!.received).toEqual([]);
    await forgotten();
  });

  it('the next target is tried, and told of when ordered', async () => {
    await open(both, { headers: { 'X-Dsbc-Failover': '408,503' } });
    spoil(0, 401);
    lab.sites[1]!.answerWith(200);
    call();
    await until(() => results.length > 0 && statuses().length === 2);
    expect(statuses()).toEqual([100, 200]);
    const [first] = results[0]!.responses;
    expect(first).toMatchObject({ address: '', port: 0 });
    expect(first?.msgs[0]?.status).toBe(502);
    expect(first?.msgs[0]?.msg.get('X-Dsbc-Target')).toBe(lab.target(0));
    await forgotten();
  });

  it.each([200, 603])('after such a %d no other is tried: somebody has decided', async (status) => {
    await open(both, { headers: { 'X-Dsbc-Failover': '408,503' } });
    spoil(0, status);
    call();
    await until(() => results.length > 0 && statuses().length === 2);
    expect(statuses()).toEqual([100, 502]);
    expect(lab.sites[1]!.received).toEqual([]);
    await forgotten();
  });

  it('a name that the resolver never finds is left after 32 s', async () => {
    const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
    await open(
      () => ['sip:1002@slow.example.com:5060', lab.target(0)],
      {},
      {
        resolver: { addresses: never, services: never },
      },
    );
    lab.sites[0]!.answerWith(200);
    call();
    await until(() => statuses().includes(100));
    clock.advance(31_999);
    await pause(20);
    expect(statuses()).toEqual([100]);
    clock.advance(1);
    await until(() => statuses().includes(200));
    await forgotten();
  });

  it('a 6xx does not wait for a name that another target has', async () => {
    const never = <T>(): Promise<T> => new Promise<T>(() => undefined);
    await open(
      () => ['sip:1002@slow.example.com:5060', lab.target(0)],
      { forking: 'simultaneous' },
      {
        resolver: { addresses: never, services: never },
      },
    );
    lab.sites[0]!.answerWith(603);
    call();
    await until(() => statuses().includes(603));
    await forgotten();
  });
});

describe('an INVITE server transaction', () => {
  const flow: Flow = {
    transport: 'udp',
    entry: { address: '198.51.100.10', port: 5060, transports: ['udp'] },
    address: '192.0.2.33',
    port: 5060,
  };
  const ignore = (): void => undefined;

  it('rings as long as its owner waits, and is refused once nobody does', () => {
    const clock = new FakeClock();
    const sent: string[] = [];
    const transactions = new TransactionLayer({
      send: (_flow, text) => void sent.push(text.slice(0, 11)),
      clock,
      limits: DEFAULT_LIMITS,
      sink: { request: ignore, ack: ignore, cancel: ignore, answer: ignore },
    });
    const text = requestOf('INVITE', 'sip:us@example.com', '192.0.2.33:5060');
    const parsed = parseMessage(text);
    if (!parsed.ok) throw new Error(parsed.reason);
    const transaction = transactions.accept({ message: parsed.message, flow, size: text.length })!;
    let alive = true;
    transaction.user = { waiting: () => alive };
    transaction.respond(180, 'SIP/2.0 180 Ringing\r\n\r\n');
    clock.advance(3_600_000);
    expect(sent).toEqual(['SIP/2.0 180']);
    alive = false;
    clock.advance(32_000);
    expect(sent[1]).toBe('SIP/2.0 500');
    expect(transactions.counts).toMatchObject({ servers: 1, abandoned: 1 });
    // Nobody acknowledges it: timer H.
    clock.advance(32_000);
    expect(transactions.counts).toMatchObject({ servers: 0, abandoned: 1 });
    expect(clock.armed).toBe(0);
  });
});
