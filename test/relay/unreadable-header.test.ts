import { createLink, untilConnected } from '../../plugin/link/create-link';
import { DRACHTIO_CAPABILITIES } from '../../plugin/link/sip-link';
import { headerKey } from '../../plugin/message/header-name';
import { parseMessage } from '../../plugin/message/parse';
import type { SipMessage } from '../../plugin/message/sip-message';
import { copyAnswer } from '../../plugin/relay/copy-answer';
import { answerHeaders } from '../../plugin/relay/leg-headers';
import { withRetryAfter } from '../../plugin/relay/relay';
import { isUnreadable } from '../../plugin/relay/unreadable-header';
import { DrachtioProcess } from '../fixtures/drachtio-process';
import { answerText, requestText } from '../fixtures/messages';
import { describeWith } from '../fixtures/needs';
import { freePort, SipEndpoint } from '../fixtures/sip-endpoint';

class Phone extends SipEndpoint {
  static async open(): Promise<Phone> {
    const { udp, tcp } = await SipEndpoint.sockets({});
    return new Phone('127.0.0.1', udp, tcp);
  }
}

/** Values that drachtio-server 0.9.10 sends. */
const SENT = [
  ['Date', 'Mon, 30 Nov 2026 18:00:00 GMT'],
  ['Date', 'Mon, 30 Nov 2026 18:00:00'],
  ['Date', 'Monday, 30-Nov-26 18:00:00 GMT'],
  ['Date', 'Mon Nov 30 18:00:00 2026'],
  ['Retry-After', '120 (busy (very)) ;duration=60'],
  ['Warning', '399 host:5060 "text", 301 [::1] "x, \\"y"'],
  ['Warning', '399 - "text"'],
  ['Reason', 'Q.850 ;cause=16 ;text="x y", SIP;cause=4'],
  ['Supported', ''],
  ['Supported', ',timer,, 100rel'],
  ['Call-Info', '<http://x y>;purpose=icon, answer-after=0'],
  ['Error-Info', 'http://x'],
  ['Alert-Info', 'Bellcore-dr1'],
  ['Alert-Info', '<http://127.0.0.1>;info=alert-internal'],
  ['Min-Expires', '60'],
  ['Timestamp', '1.5 0.1'],
  ['WWW-Authenticate', 'Digest realm=a,nonce="b, \\" c" qop="auth, auth-int"'],
  ['WWW-Authenticate', 'Bearer token68=='],
  ['P-Asserted-Identity', '"x, y" <sip:a@b;c=d>, <tel:+1>'],
  ['P-Asserted-Identity', 'a.b c <sip:a@b>'],
  ['P-Asserted-Identity', 'sip:a@b'],
  ['Remote-Party-ID', '"x" <sip:a@b>; party=called;screen=yes'],
  ['Accept', 'application/sdp;q=0.5, */*'],
  ['Accept', ''],
  ['Accept-Language', 'da, en-gb;q=0.8, *'],
  ['Privacy', 'id;critical'],
  ['Server', '((( "x'],
  ['Organization', '"'],
  ['Diversion', 'bad bad'],
  ['X-Any', '\xff "'],
] as const;

/** Values in place of which it sends 500. */
const REFUSED = [
  ['Date', 'Mon, 30 Nov 2026 18:00:00 +0100'],
  ['Date', 'Mon, 30 Nov 2026 18:00:00 UTC'],
  ['Date', '2026-11-30T18:00:00Z'],
  ['Date', ''],
  ['Retry-After', '-5'],
  ['Retry-After', '120 seconds'],
  ['Retry-After', '120 (unclosed'],
  ['Retry-After', 'Fri, 01 Jan 2027 00:00:00 GMT'],
  ['Warning', '399 host text'],
  ['Warning', '399 "text"'],
  ['Warning', '399 host "text" trailing'],
  ['Reason', 'SIP;cause=200;text=x y'],
  ['Reason', 'Q.850;text='],
  ['Reason', ''],
  ['Supported', 'a b'],
  ['Unsupported', '"x"'],
  ['Allow', 'INVITE ACK'],
  ['Call-Info', 'x y'],
  ['Call-Info', ''],
  ['Error-Info', 'text here'],
  ['Alert-Info', 'ring 1'],
  ['Alert-Info', ';info=ring1'],
  ['Min-Expires', '60 s'],
  ['Min-Expires', '99999999999'],
  ['Timestamp', '.5'],
  ['WWW-Authenticate', 'NTLM'],
  ['WWW-Authenticate', 'Digest realm="a'],
  ['Proxy-Authenticate', ''],
  ['P-Asserted-Identity', 'J\xf6rg <sip:a@b>'],
  ['P-Asserted-Identity', '"x" sip:a@b'],
  ['P-Asserted-Identity', '<tel:+1>;x=y'],
  ['P-Asserted-Identity', '<sip:>'],
  ['P-Asserted-Identity', '<sip:a@b'],
  ['Accept', 'text'],
  ['Accept-Encoding', 'a b'],
  ['Accept-Language', '@@'],
  ['Privacy', 'a b'],
  ['Priority', 'a b'],
  ['Refer-To', 'bad bad'],
  ['Refer-Sub', 'x'],
  ['Security-Server', ';'],
] as const;

const isLeftOut = (name: string, value: string, can = DRACHTIO_CAPABILITIES): boolean =>
  isUnreadable({ name, key: headerKey(name), value }, can);

it.each(SENT)('%s: %s goes on', (name, value) => {
  expect(isLeftOut(name, value)).toBe(false);
});

it.each(REFUSED)('%s: %s is left out, where the server would not send it', (name, value) => {
  expect(isLeftOut(name, value)).toBe(true);
  expect(isLeftOut(name, value, { ...DRACHTIO_CAPABILITIES, exactHeaders: true })).toBe(false);
});

it('a 503 says when to come again, whatever the site said', () => {
  const said = (...values: string[]): string[] => {
    const headers = values.map((value) => ['retry-after', value] as const);
    return (withRetryAfter({ status: 503, headers }).headers ?? []).map(([, value]) => value);
  };
  expect([said('120 (busy)'), said(), said('-5'), said(''), said('soon', '7')]).toEqual([
    ['120 (busy)'],
    ['10'],
    ['10'],
    ['10'],
    ['soon', '7'],
  ]);
  expect(withRetryAfter({ status: 480, headers: [['Retry-After', 'soon']] }).headers).toHaveLength(1);
});

it('NUL is given to no server', () => {
  const can = { ...DRACHTIO_CAPABILITIES, exactHeaders: true };
  expect(isLeftOut('X-Any', '"a\\\0b"', can)).toBe(true);
});

describe('an answer with such a header', () => {
  const read = (text: string): SipMessage => {
    const { message } = parseMessage(text);
    if (message === undefined) throw new Error('unreadable');
    return message;
  };
  const lines = ['Date: yesterday', 'Retry-After: soon', 'Server: x'];
  const answer = read(answerText(requestText({ method: 'MESSAGE' }), 503, lines));

  it('goes on without it, on every relay, and with a Retry-After of ours', () => {
    const copied = copyAnswer('MESSAGE', answer, DRACHTIO_CAPABILITIES);
    const headers = withRetryAfter(copied).headers ?? [];
    expect(headers).toContainEqual(['Server', 'x']);
    expect(headers).toContainEqual(['Retry-After', '10']);
    expect(headers.map(([name]) => name)).not.toContain('Date');
    expect(answerHeaders(answer, DRACHTIO_CAPABILITIES)).toEqual([['Server', 'x']]);
  });
});

it('takes no time to speak of, whatever it is', () => {
  const start = performance.now();
  for (const [name] of REFUSED)
    for (const piece of [' ', ',', ';', '"', '(', 'a ', '<a>', ';a=', ', a', '\\"', ' ;a'])
      for (const length of [1000, 60_000]) isLeftOut(name, `1 ${piece.repeat(length / piece.length)}\x01`);
  expect(performance.now() - start).toBeLessThan(3000);
});

describeWith(['drachtio'], 'drachtio-server', () => {
  it('sends what is said here that it sends, and 500 in place of the rest', async () => {
    const [sip, control] = [await freePort(), await freePort()];
    const server = await DrachtioProcess.start({
      controlPort: control,
      secret: 'cymru',
      contacts: [`sip:127.0.0.1:${sip};transport=udp`],
    });
    const link = createLink({ name: 'main', host: '127.0.0.1', port: control, secret: 'cymru' });
    await untilConnected(link, 5000);
    const all = [...SENT, ...REFUSED];
    link.onRequest(async (request) => {
      const header = all[Number(request.message.get('subject'))];
      await link.respond(request, { status: 404, headers: header ? [header] : [] }).catch(() => undefined);
    });
    const phone = await Phone.open();
    const statuses = await Promise.all(
      all.map(async (_, i) => {
        const callId = `readable-${i}@x`;
        const text = requestText({ method: 'MESSAGE', lines: [`Subject: ${i}`], callId });
        await phone.send(text.replace(/z9hG4bK[\w-]*/, `z9hG4bK-r${i}`), {
          address: '127.0.0.1',
          port: sip,
          transport: 'udp',
        });
        const { message } = await phone.waitFor((received) => received.message.callId === callId, 3000);
        return message.status;
      }),
    );
    await phone.close();
    await link.close();
    await server.stop();
    expect(all.filter((_, i) => statuses[i] === 404)).toEqual(SENT);
  }, 30_000);
});
