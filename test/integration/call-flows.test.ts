import { isIP } from 'node:net';
import type { SipMessage } from '../../plugin/message/sip-message';
import type { CarriedDecision } from '../../plugin/dispatch/order';
import { destinationUri } from '../../plugin/relay/destination';
import { splitList } from '../../plugin/message/name-addr';
import { parseUri } from '../../plugin/message/uri';
import type { AnswerDecision } from '../../plugin/routing/decision';
import { touched } from '../fixtures/flow-bytes';
import { FlowLab } from '../fixtures/flow-lab';
import { FlowRun } from '../fixtures/flow-run';
import { sipServerKind } from '../fixtures/sip-server';
import { CALL_FLOW_GROUPS, CALL_FLOWS, type CallFlow } from '../routing/call-flows';
import { decideRow, expectedOn } from '../routing/call-flows/decide-row';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const nameOf = (row: CallFlow): string =>
  `${row.who}, ${row.request.method ?? 'INVITE'} to ${row.toWhom}: ${row.happens}`;

/** Every row of docs/call-flows.md through the whole program. */
describe(`call flows on the ${sipServerKind} SIP server`, () => {
  let lab: FlowLab;
  afterEach(() => {
    expect(lab.alive).toBe(true);
    expect(lab.errors.splice(0)).toEqual([]);
  });

  /** Where a carried request has to arrive: `address:port`. */
  const receiverOf = (decision: CarriedDecision): string => {
    if (decision.kind === 'to_flow') return lab.here('203.0.113.7:40812');
    const uri = parseUri(decision.kind === 'outbound' ? decision.nextHop : decision.plan[0]!.uri)!;
    const dns: Record<string, string> = {
      'sip.vendor.example': '192.0.2.70:5060',
      'srv.vendor.example': '192.0.2.70:5080',
    };
    return lab.here(dns[uri.host] ?? `${uri.host}:${uri.port ?? 5060}`);
  };

  /** drachtio-server's proxy leaves a tel URI as it is, and puts the node in the place of a Request-URI that names the server. */
  const uriAtReceiver = (run: FlowRun, decision: CarriedDecision, sent: SipMessage): string => {
    const { requestUri } = decision;
    if (lab.kind === 'embedded' || decision.kind !== 'dispatch') return requestUri;
    // It refuses a user part with a semicolon, and undoes the escape with which it takes it.
    if (decision.relay !== 'proxy') return lab.undoesEscapes ? requestUri.replaceAll('%3B', ';') : requestUri;
    if (sent.uri.startsWith('tel:')) return sent.uri;
    const isLocal = parseUri(sent.uri)?.host === run.entry.address;
    return isLocal ? destinationUri(decision.plan[0]!.uri, requestUri) : requestUri;
  };

  /** The bytes of our own on a carried request: Via, Max-Forwards, Record-Route, Path, Request-URI. */
  const checkHop = (run: FlowRun, decision: CarriedDecision, sent: SipMessage, got: SipMessage): void => {
    const { address, port } = run.entry;
    const { relay, onPath } = decision;
    const [top, ...below] = got.vias;
    expect(`${top!.host}:${top!.port ?? 5060}`).toBe(`${address}:${port}`);
    expect(below.map(({ branch }) => branch)).toEqual(
      relay === 'b2bua' ? [] : sent.vias.map(({ branch }) => branch),
    );
    // RFC 3581 §4; drachtio-server says it only where it differs.
    const isSaid = lab.kind === 'embedded' || sent.vias[0]!.host !== run.sender.address;
    if (relay !== 'b2bua' && isSaid) expect(below[0]).toMatchObject({ received: run.sender.address });
    expect(got.maxForwards).toBe(sent.maxForwards! - 1);
    expect(got.uri).toBe(uriAtReceiver(run, decision, sent));
    const isRegistration = run.method === 'REGISTER' && decision.kind === 'dispatch';
    expect(got.list('path')).toEqual(
      isRegistration ? [expect.stringMatching(`^<sip:[A-Za-z0-9_-]{36}@${address}:${port};lr>$`)] : [],
    );
    const isStream = run.entry.transport === 'tcp';
    const withToken = run.row.arrival?.behindNat === true || isStream || decision.kind === 'to_flow';
    const user = withToken && lab.kind === 'embedded' ? '[\\w-]{36}@' : '';
    const routes = relay === 'proxy' && onPath ? got.list('record-route') : [];
    expect(got.list('record-route')).toEqual(routes);
    // Between two transports each side has its own (RFC 5658).
    if (relay === 'proxy' && onPath) expect(routes).toHaveLength(isStream ? 2 : 1);
    for (const route of routes) expect(route).toMatch(`${address}:${port}`);
    if (routes.length > 0) expect(routes.join()).toMatch(new RegExp(`<sip:${user}`));
    expect(got.list('route')).toEqual(decision.kind === 'dispatch' ? [] : [...decision.routes]);
    for (const name of decision.strip) expect(got.get(name)).toBeUndefined();
  };

  const checkCarried = async (run: FlowRun, decision: CarriedDecision): Promise<void> => {
    const { party, received } = await run.arrival();
    expect(party.hostport).toBe(receiverOf(decision));
    const sent = run.sent();
    checkHop(run, decision, sent, received.message);
    expect(touched(run.text, received.text, decision, lab.kind)).toEqual([]);
    if (run.row.exportedMeanwhile !== undefined) {
      await lab.export(run.row.exportedMeanwhile);
      party.respond(received, { status: 200 });
    }
    const answer = await run.final();
    expect(answer.message.status).toBe(200);
    expect(answer.message.vias.map(({ branch }) => branch)).toEqual(sent.vias.map(({ branch }) => branch));
    expect(run.arrivals()).toHaveLength(1);
    if (run.method !== 'INVITE') return;
    const { firstHop, status } = await run.hangUp(answer);
    expect(status).toBe(200);
    expect(firstHop).toBe(decision.onPath ? `${run.entry.address}:${run.entry.port}` : party.hostport);
    await party.waitForRequest('BYE');
    expect([party.count('ACK'), party.count('BYE')]).toEqual([1, 1]);
  };

  const checkAnswer = async (run: FlowRun, { status, headers = [] }: AnswerDecision): Promise<void> => {
    const { message } = await run.final();
    expect(message.status).toBe(status);
    for (const [name] of headers) {
      const values = headers.filter(([other]) => other === name).map(([, value]) => value);
      expect(message.list(name)).toEqual(values.flatMap((value) => splitList(value)));
    }
    await pause(20);
    expect(run.arrivals()).toEqual([]);
  };

  /** What the SIP server does by itself never comes to us. */
  const checkRefusedByServer = async (run: FlowRun, status: number): Promise<void> => {
    if (status > 0) expect((await run.final()).message.status).toBe(status);
    else await run.pinged().then(() => pause(20));
    expect([run.statuses().length, run.arrivals()]).toEqual([status > 0 ? 1 : 0, []]);
  };

  const play = async (row: CallFlow): Promise<FlowRun> => {
    await lab.prepare(row);
    const run = new FlowRun(lab, row);
    const { decision } = run;
    const byServer = row.byServer?.[lab.kind];
    await run.send();
    if (byServer !== undefined) {
      await checkRefusedByServer(run, byServer);
    } else if (decision.kind === 'drop') {
      await pause(200);
      expect([run.statuses(), run.arrivals()]).toEqual([[], []]);
    } else if (decision.kind === 'answer') {
      await checkAnswer(run, decision);
    } else {
      await checkCarried(run, decision);
    }
    return run;
  };

  /** Only root can give drachtio-server a name server of its own. */
  const namesWork = sipServerKind === 'embedded' || process.getuid?.() === 0;
  const leavesForName = (row: CallFlow): boolean => {
    const decision = decideRow(row, sipServerKind);
    return decision.kind === 'outbound' && isIP(parseUri(decision.nextHop)?.host ?? '') === 0;
  };
  const itRuns = (row: CallFlow, work: () => Promise<void>): void => {
    if (namesWork || !leavesForName(row)) it(nameOf(row), work);
    else
      it.skip(`${nameOf(row)} [skipped, because only root can give drachtio-server names to look up]`, work);
  };

  const labOf = (options = {}): void => {
    beforeAll(async () => {
      lab = await FlowLab.start(options);
    });
    afterAll(() => lab.stop());
  };

  describe('by the VIP', () => {
    labOf();
    describe.each(CALL_FLOW_GROUPS)('$title', ({ rows }) => {
      for (const row of rows) itRuns(row, async () => checkLog(await play(row)));
    });
  });

  // So that these relays are run where there is no drachtio-server.
  if (sipServerKind === 'embedded') {
    describe('as two dialogs, where drachtio-server needs them', () => {
      labOf({ asDrachtio: true });
      for (const row of CALL_FLOWS) {
        const decision = decideRow(row, 'drachtio');
        if (!('relay' in decision) || decision.relay !== 'b2bua' || row.byServer?.drachtio !== undefined)
          continue;
        itRuns(row, async () => checkLog(await play(row)));
      }
    });
  }

  /** Everything through the alias as through the VIP. */
  describe('by the alias', () => {
    labOf();
    const receivedOn = { address: '198.51.100.11', port: 5060 };
    for (const row of CALL_FLOWS) {
      if (row.arrival?.receivedOn !== undefined || row.arrival?.flow !== undefined) continue;
      if (row.request.method !== undefined && row.request.method !== 'REGISTER') continue;
      itRuns(row, async () => {
        await play({ ...row, arrival: { ...row.arrival, receivedOn } });
      });
    }
  });

  /** One log line a request, with what was decided by. */
  const checkLog = async (run: FlowRun): Promise<void> => {
    const line = (): object | undefined => lab.records.find(({ callId }) => callId === `${run.id}@row`);
    const { key, system, relay } = expectedOn(run.row, lab.kind);
    const said = { key, system, relay };
    if (run.row.byServer?.[lab.kind] !== undefined) return;
    // Some refusals are the SIP server's own, too, with the same status.
    if (Object.values(said).every((value) => value === undefined)) return;
    for (let i = 0; i < 100 && line() === undefined; i++) await pause(10);
    expect(line()).toMatchObject(
      Object.fromEntries(Object.entries(said).filter(([, value]) => value !== undefined)),
    );
  };
});
