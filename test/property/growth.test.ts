import { FrameReader, FrameWriter } from '../../plugin/ha/replication/session';
import { hasHostlessContact } from '../../plugin/link/hostless-contact';
import { SharedLibrary } from '../../plugin/link/library-side';
import { SendGate } from '../../plugin/link/send-gate';
import type { Agent, LibraryRequest, Srf } from '../../plugin/link/srf';
import { parseMessage } from '../../plugin/message/parse';
import { scanMessage } from '../../plugin/message/scan/message';
import type { SipMessage } from '../../plugin/message/sip-message';
import { BindingTable, type FlowEntry } from '../../plugin/nat/bindings';
import { learn } from '../../plugin/nat/learn';
import { LegIds } from '../../plugin/relay/leg-ids';
import { normaliseUser } from '../../plugin/routing/number';
import { RecentSites } from '../../plugin/routing/recent-sites';
import { growth } from '../fixtures/growth';

const message = (startLine: string, more: string): string =>
  [
    startLine,
    'Via: SIP/2.0/UDP 192.0.2.33;branch=z9hG4bK-1',
    'From: <sip:1001@example.com>;tag=f1',
    'To: <sip:1001@example.com>',
    'Call-ID: c1',
    'CSeq: 1 REGISTER',
    more,
    'Content-Length: 0\r\n\r\n',
  ].join('\r\n');
const parsed = (text: string): SipMessage => {
  const result = parseMessage(text);
  if (!result.ok) throw new Error(result.reason);
  return result.message;
};
const list = (count: number, item: (index: number) => string): string =>
  Array.from({ length: count }, (_, index) => item(index)).join(',');

/** One packet of 64 KB must not stop the program, whatever stands in it. */
describe('ten times as much of it costs about ten times as much', () => {
  const LINEAR = 35;

  it.each<[string, number, (items: number) => () => void]>([
    ['a user that is nearly a global number', 3000, (n) => () => normaliseUser(`+${'1'.repeat(n)}x`, false)],
    ['a user that is nearly a number', 3000, (n) => () => normaliseUser(`*${'1'.repeat(n)}x`, true)],
    [
      'a user with parameters that is nearly a number',
      3000,
      (n) => () => normaliseUser(`${'1'.repeat(n)}x;a`, false),
    ],
    [
      'a Contact of opening brackets',
      3000,
      (n) => {
        const invite = parsed(message('INVITE sip:1002@example.com SIP/2.0', `Contact: ${'<'.repeat(n)}`));
        return () => hasHostlessContact(invite);
      },
    ],
    [
      'Vias with an IPv6 address that never ends',
      100,
      (n) => {
        const text = message('OPTIONS sip:example.com SIP/2.0', `Via: ${list(n, () => 'SIP/2.0/UDP [')}`);
        const table = new Int32Array(65_536);
        return () => scanMessage(text, table);
      },
    ],
    [
      'the Contacts of a REGISTER, which the registrar writes otherwise',
      100,
      (n) => {
        const contacts = (net: string): string =>
          `Contact: ${list(n, (i) => `<sip:${i}@${net}>;expires=60;+sip.instance="<${i}>"`)}`;
        const register = parsed(message('REGISTER sip:example.com SIP/2.0', contacts('192.0.2.33')));
        const answer = parsed(message('SIP/2.0 200 OK', contacts('198.51.100.7')));
        return () => learn(register, answer);
      },
    ],
    [
      'devices of one address of record, until all of them have expired',
      400,
      (n) => {
        let now = 0;
        const bindings = new BindingTable({ maxBindings: 100_000, now: () => now });
        const entries: FlowEntry[] = [];
        bindings.observe({ added: (entry) => entries.push(entry), removed: () => undefined });
        const flow = {
          entry: { address: '198.51.100.10', port: 5060 },
          transport: 'udp',
          remote: { address: '203.0.113.7', port: 5060 },
        } as const;
        const contacts = Array.from({ length: n }, (__, i) => ({
          uri: 'sip:1001@192.0.2.33',
          device: `instance:${i}`,
          expires: 60,
        }));
        return () => {
          bindings.take({ aor: '1001@example.com', all: false, contacts }, flow, true);
          now = 61_000;
          for (const entry of entries) bindings.sweep(entry);
          if (bindings.size > 0) throw new Error('some are left');
        };
      },
    ],
    [
      'pieces of one frame of the replication channel',
      300,
      (n) => {
        const key = Buffer.alloc(32);
        const piece = 256;
        const frame = new FrameWriter(key).frame('x'.repeat(n * piece));
        const reader = new FrameReader(key);
        return () => {
          let frames = 0;
          for (let at = 0; at < frame.length; at += piece)
            frames += reader.push(frame.subarray(at, at + piece)).length;
          if (frames !== 1) throw new Error('it was not read');
        };
      },
    ],
    [
      'dialogs of a dialog-info that never end',
      500,
      (n) => () => new LegIds().mapDialogInfo('<dialog '.repeat(n)),
    ],
    [
      'accounts beyond those that are remembered',
      1000,
      (n) => {
        const sites = new RecentSites(() => 0, { max: n });
        const accounts = Array.from({ length: 5 * n }, (__, i) => `account ${i}`);
        return () => {
          for (const account of accounts) sites.saw('s', account, 'main');
        };
      },
    ],
    [
      'commands too large for the ring of drachtio-server, one behind the other',
      1500,
      (n) => {
        const bytes = Buffer.alloc(5000);
        const gate = new SendGate(() => undefined);
        for (let id = 0; id < n; id++) gate.send(`${id}`, bytes);
        return () => {
          for (let id = 0; id < n; id++) gate.replied(`${id}`);
        };
      },
    ],
    [
      'INVITEs that ring in an application the link is shared with',
      1500,
      (n) => {
        const agent = { puntUpTheMiddleware: () => undefined } as unknown as Agent;
        new SharedLibrary(
          {} as unknown as Srf,
          agent,
          () => undefined,
          () => 0,
        );
        const invites = Array.from(
          { length: n },
          (__, i) =>
            ({ method: 'INVITE', stackTxnId: `${i}`, res: { finished: false } }) as unknown as LibraryRequest,
        );
        return () => {
          for (const invite of invites) agent.puntUpTheMiddleware(invite, invite.res);
        };
      },
    ],
  ])('%s', (_, items, prepare) => {
    expect(growth(prepare, items)).toBeLessThan(LINEAR);
  });
});
