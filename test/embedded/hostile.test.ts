import { startEmbeddedServer } from '../../plugin/embedded';
import { mutations, randomFrom } from '../fixtures/mutations';
import { handedFiles } from '../fixtures/sip-files';
import { FakeClock } from './fake-clock';
import { SECRET } from './lab';
import { RawApplication } from './raw-application';
import type { SipMessage } from '../../plugin/message/sip-message';
import { answerTo, pause, requestOf, TcpPeer, UdpPeer, until } from './sip-peer';

/** Requests inside dialogs, answers and the like, to be spoilt along with the handed cases. */
const more = (us: string, phone: string): string[] => [
  requestOf('BYE', `sip:${us}`, phone, { toTag: 'x', lines: [`Route: <sip:${us};lr>`] }),
  requestOf('ACK', `sip:${us}`, phone, {
    toTag: 'x',
    lines: [`Route: <sip:${us};lr;dsbc=rAAAAAAAAAAAAAAAA>`],
  }),
  requestOf('CANCEL', 'sip:1002@example.com', phone),
  requestOf('PRACK', `sip:${us}`, phone, { toTag: 'x', lines: ['RAck: 1 1 INVITE'] }),
  requestOf('SUBSCRIBE', 'sip:1002@example.com', phone, {
    lines: ['Event: presence', `Contact: <sip:a@${phone}>`],
  }),
  `SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP ${us};branch=z9hG4bKx\r\nVia: SIP/2.0/UDP ${phone};branch=z9hG4bKy\r\nFrom: <sip:a@b>;tag=1\r\nTo: <sip:a@b>;tag=2\r\nCall-ID: x\r\nCSeq: 1 INVITE\r\nContent-Length: 0\r\n\r\n`,
];

/**
 * What became of each INVITE whose caller has heard no final answer, by its Call-ID: what to replay when something is left, since
 * the order in which things come is not the seed's.
 */
class Journal {
  readonly #calls = new Map<string, string[]>();

  add(message: string, what: string): void {
    if (!message.startsWith('INVITE')) return;
    const [, id = ''] = /^(?:call-id|i)[ \t]*:[ \t]*(.*?)[ \t]*\r?$/im.exec(message) ?? [];
    this.#calls.set(id, [...(this.#calls.get(id) ?? [message]), what]);
  }

  answered({ kind, status, callId = '' }: SipMessage): void {
    if (kind === 'response' && status >= 200) this.#calls.delete(callId);
  }

  text(): string {
    return [...this.#calls.values()].map((parts) => JSON.stringify(parts, null, 1)).join('\n');
  }
}

describe('a server that is sent spoilt messages', () => {
  it('throws at none of them, whatever the application does with them, and forgets them all', async () => {
    const clock = new FakeClock();
    const failures: unknown[] = [];
    const log = (fields: object): void => void failures.push(fields);
    const quiet = (): void => undefined;
    const server = await startEmbeddedServer({
      addresses: [{ address: '127.0.0.1', port: 0, transports: ['udp', 'tcp'] }],
      control: { port: 0, secret: SECRET },
      clock,
      logger: { debug: quiet, info: quiet, warn: quiet, error: log },
    });
    const us = server.addresses[0]!;
    const [phone, site] = [await UdpPeer.open(), await UdpPeer.open()];
    const random = randomFrom(7);
    const app = new RawApplication(server.controlPort);
    let handed = 0;
    const journal = new Journal();
    phone.onMessage = (message) => journal.answered(message);
    app.onFrame = (tokens, text) => {
      if (tokens[1] !== 'sip' || tokens[2] !== 'network' || text.startsWith('SIP/')) return;
      handed += 1;
      const transaction = tokens[8] ?? '';
      const choice = random();
      journal.add(text, `application: ${choice}`);
      if (choice < 0.4)
        app.say(
          `${handed}|proxy|${transaction}|remainInDialog|fullResponse||serial|||sip:${site.host}\r\n${text}`,
        );
      else if (choice < 0.6) app.say(`${handed}|sip|${transaction}|\r\nSIP/2.0 200 OK\r\n\r\n`);
      else if (choice < 0.7)
        app.say(`${handed}|sip|${transaction}|\r\nSIP/2.0 183 Yes\r\nRequire: 100rel\r\n\r\n`);
      else if (choice < 0.9) app.say(`${handed}|sip|||sip:${site.host}\r\n${text}`);
    };
    app.say(`1|authenticate|${SECRET}|`);
    app.say('2|route|*');
    await until(() => app.seen.includes('|response|2|OK'));
    let spoilt = 0;
    site.onMessage = (message, from) => {
      if (message.kind !== 'request') return;
      const answer = answerTo(message, [180, 200, 302, 401, 486, 503, 603][Math.floor(random() * 7)] ?? 200, [
        `Contact: <sip:b@${site.host}>`,
      ]);
      spoilt += 1;
      const [bad = answer] = random() < 0.3 ? mutations([answer], spoilt, 1) : [answer];
      journal.add(message.raw, `site: ${bad}`);
      site.send(bad, from);
    };
    // Else most would be the same few transactions over and over.
    let made = 0;
    const unique = (text: string): string => {
      made += 1;
      return text
        .replace(/branch=z9hG4bK/g, `branch=z9hG4bK${made}`)
        .replace(/^(call-id|i): /im, `$1: ${made}`);
    };
    const corpus = [...handedFiles().map(({ raw }) => raw), ...more(`127.0.0.1:${us.port}`, phone.host)];
    for (let seed = 1; seed <= 15; seed += 1) {
      for (const text of mutations(corpus, seed, 100)) phone.send(unique(text), us);
      const stream = await TcpPeer.open(us);
      for (const text of mutations(corpus, 100 + seed, 5)) stream.send(unique(text));
      await pause(20);
      clock.advance(700);
      stream.close();
    }
    await pause(100);
    expect(handed).toBeGreaterThan(50);
    expect(failures).toEqual([]);
    expect(app.closed).toBe(false);
    phone.received.length = 0;
    phone.send(requestOf('DANCE', 'sip:example.com', phone.host), us);
    await pause(50);
    // All that was begun ends by its own timers: ten minutes of ringing at most, then the half minute of what follows.
    for (let minute = 0; minute < 14; minute += 1) {
      clock.advance(60_000);
      await pause(5);
    }
    app.socket.destroy();
    // The server hears of the lost application on a later turn, and only then do its requests begin to end.
    await until(() => server.counts().dialogs === 0 && server.counts().pending === 0);
    await pause(50);
    const none = { servers: 0, clients: 0, pending: 0, own: 0, dialogs: 0 };
    const left = (): boolean => {
      const { servers, clients, pending, own, dialogs } = server.counts();
      return servers + clients + pending + own + dialogs > 0;
    };
    clock.advance(70_000);
    // On a busy machine a datagram may still wait to be read, and its transaction begin behind the clock.
    for (let tries = 0; tries < 100 && (tries === 0 || left()); tries++) {
      await pause(20);
      clock.advance(70_000);
    }
    const counts = server.counts();
    if (left() || counts.abandoned > 0)
      process.stderr.write(`left: ${JSON.stringify(counts)}\n${journal.text()}\n`);
    await Promise.all([phone.close(), site.close(), server.close()]);
    expect(counts).toMatchObject({ ...none, abandoned: 0 });
    expect(failures).toEqual([]);
    expect(clock.armed).toBe(0);
  }, 60_000);
});
