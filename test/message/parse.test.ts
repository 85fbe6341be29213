import { parseMessage } from '../../plugin/message/parse';
import { param } from '../../plugin/message/name-addr';
import { buildRequest, buildResponse } from '../../plugin/message/build';
import type { SipMessage } from '../../plugin/message/sip-message';
import { checkResponse } from '../../plugin/message/validate';

const crlf = (lines: readonly string[], body = ''): string => `${lines.join('\r\n')}\r\n\r\n${body}`;
const parsed = (text: string): SipMessage => {
  const result = parseMessage(text);
  if (!result.ok) throw new Error(result.reason);
  return result.message;
};

const REGISTER = [
  'REGISTER sip:example.com SIP/2.0',
  'v: SIP/2.0/UDP 192.0.2.33:5060;branch=z9hG4bK1;rport, SIP/2.0/TCP [2001:db8::1]:5070;branch=z9hG4bK2;received=[2001:db8::9]',
  'Via: SIP/2.0/UDP c.example.com',
  'f: "A \\"q\\", <x>" <sip:1001@example.com>;tag=f1',
  'TO: <sip:1001@example.com>',
  'i: abc@h',
  'CSEQ: 00017  REGISTER',
  'm: sip:1001@192.0.2.33:5060;+sip.instance="<urn:uuid:1>";reg-id=1;expires=300, <sip:a@b;x=1>;q=0.5',
  'Supported: path,',
  '  outbound',
  'Max-Forwards: 70',
  'Expires: 99999999999999',
  'l: 4',
];

describe('parseMessage', () => {
  it('reads a request with compact names, folding, lists and any case', () => {
    const message = parsed(crlf(REGISTER, 'bodyREST'));
    expect(message).toMatchObject({
      kind: 'request',
      method: 'REGISTER',
      uri: 'sip:example.com',
      version: 'SIP/2.0',
      callId: 'abc@h',
      cseq: { number: 17, method: 'REGISTER' },
      maxForwards: 70,
      expires: 4294967295,
      contentLength: 4,
      body: 'body',
    });
    expect(message.vias.map((via) => [via.transport, via.host, via.port, via.branch])).toEqual([
      ['UDP', '192.0.2.33', 5060, 'z9hG4bK1'],
      ['TCP', '[2001:db8::1]', 5070, 'z9hG4bK2'],
      ['UDP', 'c.example.com', undefined, undefined],
    ]);
    expect(message.via?.rport).toBe(true);
    expect(message.vias[1]?.received).toBe('2001:db8::9');
    expect(message.from).toMatchObject({ displayName: 'A "q", <x>', uri: 'sip:1001@example.com' });
    expect(param(message.from!.params, 'TAG')).toBe('f1');
    expect(message.contacts.map((contact) => contact.uri)).toEqual([
      'sip:1001@192.0.2.33:5060',
      'sip:a@b;x=1',
    ]);
    expect(param(message.contacts[0]!.params, '+sip.instance')).toBe('<urn:uuid:1>');
    expect(message.list('k')).toEqual(['path', 'outbound']);
    expect(message.headers.map((header) => header.name)).toContain('CSEQ');
  });

  it('reads a response, with an empty reason too', () => {
    const message = parsed(crlf(['SIP/2.0 100 ', 'Via: SIP/2.0/UDP h']));
    expect(message).toMatchObject({ kind: 'response', status: 100, reason: '', method: '' });
  });

  it.each(['SIP/2.0 486', 'SIP/2.0 486 ', 'sip/2.0 486 Busy Here'])('reads the status of "%s"', (line) => {
    const message = parsed(crlf([line, 'Via: SIP/2.0/UDP h']));
    expect(message).toMatchObject({ kind: 'response', status: 486, reason: line.slice(12) });
  });

  it.each(['SIP/2.0 4860', 'SIP/2.0 48', 'SIP/2.0 486x', 'SIP/2.0  486', 'SIP/2.0486'])(
    'not of "%s"',
    (line) => {
      expect(parseMessage(crlf([line, ...REGISTER.slice(1)]))).toMatchObject({ ok: false });
    },
  );

  it('leaves out of a response what it cannot read, and takes the rest', () => {
    const bad = ['Digest username="90"', 'Sub ject: x', 'X-A: a\nP-Asserted-Identity: <sip:evil@x>', ': x'];
    const message = parsed(crlf(['SIP/2.0 200 OK', ...REGISTER.slice(1, 8), ...bad, 'X-B: b']));
    expect(message.headers).toHaveLength(8);
    expect(message.get('x-b')).toBe('b');
    expect(message.get('p-asserted-identity') ?? message.get('x-a')).toBeUndefined();
    expect(checkResponse(message)).toBeUndefined();
    // What it is matched by has to be there.
    expect(parseMessage(crlf(['SIP/2.0 200 OK', ...bad, 'X-B: b']))).toMatchObject({ ok: false });
  });

  it('a response may say twice what is for its caller to read, but not what it is matched by', () => {
    const response = (line: string): SipMessage =>
      parsed(crlf(['SIP/2.0 200 OK', ...REGISTER.slice(1, 8), line, line]));
    for (const line of ['Expires: 60', 'Content-Type: text/plain', 'Event: presence'])
      expect(checkResponse(response(line))).toBeUndefined();
    for (const line of ['Call-ID: other', 'CSeq: 1 REGISTER', 'To: <sip:a@b>', 'Content-Length: 0'])
      expect(checkResponse(response(line))).toBeDefined();
  });

  it.each([
    ['a bare LF in a header', 'Subject: x\nP-Asserted-Identity: <sip:evil@x>'],
    ['a bare CR in a header', 'Subject: x\rP-Asserted-Identity: <sip:evil@x>'],
    ['a bare LF before a fold', 'Subject: x\n y'],
    ['a CR CR LF', 'Subject: x\r'],
    ['a line without a colon', 'Digest username="90"'],
    ['a name that is no token', 'Sub ject: x'],
    ['an empty name', ': x'],
  ])('refuses %s, but can answer', (_, line) => {
    const result = parseMessage(crlf([...REGISTER.slice(0, 8), line]));
    expect(result.ok).toBe(false);
    expect(result.message?.callId).toBe('abc@h');
    const answer = parsed(buildResponse(result.message!, { status: 400, toTag: 't1' }));
    expect(answer.vias).toHaveLength(3);
    expect(answer.get('to')).toBe('<sip:1001@example.com>;tag=t1');
    expect(answer.raw).not.toContain('evil');
  });

  it('has nothing to answer with when Call-ID is not safe', () => {
    const result = parseMessage(crlf([...REGISTER.slice(0, 5), 'i: a\nb', 'CSeq: 1 REGISTER']));
    expect(result).toEqual({ ok: false, reason: 'a bare CR or LF inside the headers' });
  });

  it('does not mistake a header named like an object member', () => {
    const message = parsed(crlf([...REGISTER.slice(0, 7), '__proto__: x', 'constructor: y']));
    expect([message.get('__proto__'), message.get('constructor'), message.get('toString')]).toEqual([
      'x',
      'y',
      undefined,
    ]);
  });

  it('keeps every byte of a binary body', () => {
    const bytes = Buffer.from([0, 0xff, 0xfe, 0x80, 13, 10, 13, 10]);
    const head = Buffer.from(crlf([...REGISTER.slice(0, 7), 'Content-Length: 8']), 'latin1');
    const result = parseMessage(Buffer.concat([head, bytes]));
    expect(Buffer.from(result.message!.body, 'latin1')).toEqual(bytes);
  });
});

describe('buildRequest', () => {
  it('is read back as it was given', () => {
    const text = buildRequest({
      method: 'MESSAGE',
      uri: 'sip:a@b',
      headers: [
        ['Via', 'SIP/2.0/UDP h'],
        ['content-length', '99'],
      ],
      body: 'caf\xc3\xa9',
    });
    expect(parsed(text)).toMatchObject({ method: 'MESSAGE', contentLength: 5, body: 'caf\xc3\xa9' });
  });

  it('refuses a line end in a header', () => {
    expect(() => buildRequest({ method: 'M', uri: 'sip:a', headers: [['X', 'a\r\nVia: b']] })).toThrow(
      TypeError,
    );
  });
});
