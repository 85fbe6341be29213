import { parseMessage } from '../../plugin/message/parse';
import type { SipMessage } from '../../plugin/message/sip-message';
import { BindingTable, type BindingRecord, type FlowEntry } from '../../plugin/nat/bindings';
import type { Flow } from '../../plugin/nat/flow';
import { learn } from '../../plugin/nat/learn';
import { growth } from '../fixtures/growth';

const parse = (lines: string[]): SipMessage => {
  const result = parseMessage([...lines, 'Content-Length: 0', '', ''].join('\r\n'));
  if (!result.ok) throw new Error(result.reason);
  return result.message;
};
const register = (contact: string | undefined, more: string[] = [], callId = 'c1'): SipMessage =>
  parse([
    'REGISTER sip:example.com SIP/2.0',
    'Via: SIP/2.0/UDP 192.0.2.33;branch=z9hG4bK-1',
    'Max-Forwards: 70',
    'From: <sip:1001@example.com>;tag=f1',
    'To: "Alice" <sip:1001@Example.com;user=phone>',
    `Call-ID: ${callId}`,
    'CSeq: 1 REGISTER',
    ...(contact === undefined ? [] : [`Contact: ${contact}`]),
    ...more,
  ]);
const answer = (contact: string | undefined, more: string[] = [], status = 200): SipMessage =>
  parse([
    `SIP/2.0 ${status} X`,
    'Via: SIP/2.0/UDP 192.0.2.33;branch=z9hG4bK-1',
    'From: <sip:1001@example.com>;tag=f1',
    'To: <sip:1001@example.com>;tag=t1',
    'Call-ID: c1',
    'CSeq: 1 REGISTER',
    ...(contact === undefined ? [] : [`Contact: ${contact}`]),
    ...more,
  ]);
const flowFrom = (port: number): Flow => ({
  entry: { address: '198.51.100.10', port: 5060 },
  transport: 'udp',
  remote: { address: '203.0.113.7', port },
});

describe('learn', () => {
  const expiresOf = (...args: Parameters<typeof learn>) => learn(...args)?.contacts[0]?.expires;

  it("takes the lifetime from the answer's Contact, then its Expires, then the request", () => {
    const mine = '<sip:1001@192.0.2.33:5060>';
    expect(
      expiresOf(
        register(`${mine};expires=600`),
        answer(`<sip:1001@192.0.2.9>;expires=7, ${mine};expires=120`),
      ),
    ).toBe(120);
    expect(expiresOf(register(`${mine};expires=600`), answer(mine, ['Expires: 90']))).toBe(90);
    expect(expiresOf(register(`${mine};expires=600`), answer('<sip:rewritten@198.51.100.21>'))).toBe(600);
    expect(expiresOf(register(mine, ['Expires: 300']), answer(undefined))).toBe(300);
    expect(expiresOf(register(mine), answer(undefined))).toBe(3600);
  });

  it('takes only the Contacts of the request, not those of other devices', () => {
    const learnt = learn(
      register('<sip:1001@192.0.2.33>'),
      answer('<sip:1001@192.0.2.33>;expires=60, <sip:1001@192.0.2.44>;expires=60'),
    );
    expect(learnt?.contacts.map((contact) => contact.uri)).toEqual(['sip:1001@192.0.2.33']);
    expect(learnt?.aor).toBe('1001@example.com');
  });

  it('knows a device by its instance and reg-id, else by its Call-ID', () => {
    const instance = '<sip:1001@192.0.2.33>;reg-id=2;+sip.instance="<urn:uuid:7>"';
    expect(learn(register(instance), answer(undefined))?.contacts[0]?.device).toBe('instance:<urn:uuid:7>;2');
    expect(learn(register('<sip:1001@192.0.2.33>'), answer(undefined))?.contacts[0]?.device).toBe('call:c1');
  });

  it('H01: understands the star as all bindings', () => {
    expect(learn(register('*', ['Expires: 0']), answer(undefined))).toMatchObject({
      all: true,
      contacts: [],
    });
  });

  it('H26: learns nothing from a query, and nothing from a refusal', () => {
    expect(learn(register(undefined), answer('<sip:1001@192.0.2.33>;expires=60'))).toBeUndefined();
    expect(learn(register('<sip:1001@192.0.2.33>'), answer(undefined, [], 403))).toBeUndefined();
  });

  it('takes a Contact that asked for 0 seconds as gone whatever the answer lists', () => {
    const mine = '<sip:1001@192.0.2.33>';
    expect(expiresOf(register(`${mine};expires=0`), answer(`${mine};expires=60`))).toBe(0);
  });
});

describe('BindingTable', () => {
  let now = 0;
  const table = (maxBindings = 100) => new BindingTable({ maxBindings, now: () => now });
  const learnt = (device: string, expires: number, aor = '1001@example.com') => ({
    aor,
    all: false,
    contacts: [{ uri: `sip:${device}@192.0.2.33`, device, expires }],
  });
  /** The flows a table has, or comes to have. */
  const entriesOf = (t: BindingTable, fill: () => void = () => undefined): FlowEntry[] => {
    const entries: FlowEntry[] = [];
    t.observe({ added: (entry) => entries.push(entry), removed: () => undefined });
    fill();
    return entries;
  };
  beforeEach(() => {
    now = 0;
  });

  it('keeps several devices of one account, each by its own flow', () => {
    const t = table();
    t.take(learnt('a', 60), flowFrom(1), true);
    t.take(learnt('b', 60), flowFrom(2), true);
    expect(t.list(10).map((binding) => binding.flow.remote.port)).toEqual([1, 2]);
    expect(t.size).toBe(2);
  });

  it('forgets the old flow of a device that moved', () => {
    const t = table();
    t.take(learnt('a', 60), flowFrom(1), true);
    t.take(learnt('a', 60), flowFrom(2), true);
    expect(t.list(10).map((binding) => binding.flow.remote.port)).toEqual([2]);
    expect(t.flowCount).toBe(1);
  });

  it('holds one flow for several lines of a device', () => {
    const t = table();
    t.take(learnt('a', 60), flowFrom(1), true);
    t.take(learnt('a', 60, '1002@example.com'), flowFrom(1), true);
    expect([t.size, t.flowCount]).toEqual([2, 1]);
    t.take(learnt('a', 0), flowFrom(1), true);
    expect([t.size, t.flowCount]).toEqual([1, 1]);
    t.take(learnt('a', 0, '1002@example.com'), flowFrom(1), true);
    expect([t.size, t.flowCount]).toEqual([0, 0]);
  });

  it('keeps the lines of a gateway apart, whichever of them goes first', () => {
    const t = table();
    const account = (n: number): string => `${1000 + n}@example.com`;
    for (let n = 0; n < 40; n++) t.take(learnt('gw', 60 + n, account(n)), flowFrom(1), true);
    for (const n of [39, 0, 17, 1, 38]) t.take(learnt('gw', 0, account(n)), flowFrom(1), true);
    now += 80_500;
    const [entry] = entriesOf(t);
    if (entry === undefined) throw new Error('there is no flow');
    expect(t.sweep(entry)).toBe(true);
    const left = Array.from({ length: 40 }, (_, n) => n).filter((n) => n > 20 && n !== 38 && n !== 39);
    expect(t.list(100).map(({ aor }) => aor)).toEqual(left.map(account));
    expect(entry.lines.map(({ aor }) => aor).sort()).toEqual(left.map(account));
    for (const n of left) t.take(learnt('gw', 0, account(n)), flowFrom(1), true);
    expect([t.size, t.flowCount]).toEqual([0, 0]);
  });

  it('takes and forgets the lines of one flow at a cost that does not grow with their number', () => {
    const expiry = (lines: number) => (): void => {
      const t = table(lines);
      const [entry] = entriesOf(t, () => {
        for (let n = 0; n < lines; n++) t.take(learnt('gw', 60, `${n}@example.com`), flowFrom(1), true);
      });
      now += 61_000;
      expect(entry && t.sweep(entry)).toBe(false);
      expect(t.size).toBe(0);
    };
    // 100 with a list that is copied for each line.
    expect(growth(expiry, 4000)).toBeLessThan(35);
  });

  it('names the account of a flow that has exactly one, while its registration lasts', () => {
    const t = table();
    expect(t.userOf(flowFrom(1))).toBeUndefined();
    t.take(learnt('a', 60, 'trunk@example.com'), flowFrom(1), false);
    t.take(learnt('b', 60, 'trunk@example.com'), flowFrom(1), false);
    expect([t.userOf(flowFrom(1)), t.userOf(flowFrom(2))]).toEqual(['trunk', undefined]);
    // Nobody can say which line of an office phone it is.
    t.take(learnt('c', 20, '1002@example.com'), flowFrom(1), false);
    expect(t.userOf(flowFrom(1))).toBeUndefined();
    now += 30_000;
    expect(t.userOf(flowFrom(1))).toBe('trunk');
    now += 60_000;
    expect(t.userOf(flowFrom(1))).toBeUndefined();
  });

  it('drops all bindings of the account for a star', () => {
    const t = table();
    t.take(learnt('a', 60), flowFrom(1), true);
    t.take(learnt('b', 60), flowFrom(2), true);
    t.take(learnt('c', 60, '1002@example.com'), flowFrom(3), true);
    t.take({ aor: '1001@example.com', all: true, contacts: [] }, flowFrom(1), true);
    expect(t.list(10).map((binding) => binding.aor)).toEqual(['1002@example.com']);
  });

  it('refuses new bindings when full, refreshes known ones, and counts', () => {
    const t = table(1);
    t.take(learnt('a', 60), flowFrom(1), true);
    t.take(learnt('b', 60), flowFrom(2), true);
    now = 30_000;
    t.take(learnt('a', 60), flowFrom(1), true);
    expect([t.size, t.refused]).toEqual([1, 1]);
    expect(t.list(10)[0]?.expiresIn).toBe(60);
  });

  it('drops what came along a connection that closed', () => {
    const t = table();
    t.take(learnt('a', 60), flowFrom(1), false);
    expect(t.dropFlow(flowFrom(2))).toBe(0);
    expect(t.dropFlow(flowFrom(1))).toBe(1);
    expect(t.size).toBe(0);
  });

  it('replicates to a standby, with the remaining time, whatever its clock says', () => {
    const active = table();
    let standbyNow = 5_000_000;
    const standby = new BindingTable({ maxBindings: 100, now: () => standbyNow });
    active.onRecord((record) => standby.apply(record));
    active.take(learnt('a', 60), flowFrom(1), true);
    active.take(learnt('b', 60), flowFrom(2), true);
    active.take(learnt('b', 0), flowFrom(2), true);
    standbyNow += 10_000;
    expect(standby.list(10)).toMatchObject([{ aor: '1001@example.com', expiresIn: 50, pinged: true }]);
  });

  it('hands all of it to a standby that joins', () => {
    const active = table();
    active.take(learnt('a', 60), flowFrom(1), true);
    now = 20_000;
    const records: BindingRecord[] = [...active.records()];
    const standby = table();
    for (const record of records) standby.apply(record);
    expect(standby.list(10)).toMatchObject([{ expiresIn: 40, flow: flowFrom(1) }]);
  });
});

describe('BindingTable, of a phone that restarts', () => {
  const table = () => new BindingTable({ maxBindings: 10, now: () => 0 });
  const record = (device: string, contact: string, port: number, expiresIn = 60): BindingRecord => ({
    aor: '1001@example.com',
    device,
    contact,
    flow: flowFrom(port),
    expiresIn,
    ping: true,
  });

  it('keeps one binding for one Contact, whatever the Call-ID, and the newest way to it', () => {
    const bindings = table();
    for (let life = 0; life < 50; life++) bindings.apply(record(`call:${life}`, 'sip:1001@192.0.2.33', life));
    expect(bindings.size).toBe(1);
    expect(bindings.flowCount).toBe(1);
    expect(bindings.list(5)[0]?.flow.remote.port).toBe(49);
    bindings.apply(record('call:another', 'sip:1001@192.0.2.33', 7, 0));
    expect(bindings.size).toBe(0);
  });

  it('keeps devices apart that differ in Contact or instance', () => {
    const bindings = table();
    bindings.apply(record('call:a', 'sip:1001@192.0.2.33', 1));
    bindings.apply(record('call:b', 'sip:1001@192.0.2.34', 2));
    bindings.apply(record('instance:x;1', 'sip:1001@192.0.2.33', 3));
    bindings.apply(record('instance:y;1', 'sip:1001@192.0.2.33', 4));
    expect(bindings.size).toBe(4);
  });
});
