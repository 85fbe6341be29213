import { DRACHTIO_CAPABILITIES, type LinkCapabilities } from '../../plugin/link/sip-link';
import { parseMessage } from '../../plugin/message/parse';
import type { SipMessage } from '../../plugin/message/sip-message';
import { copyAnswer } from '../../plugin/relay/copy-answer';
import { copyRequestHeaders } from '../../plugin/relay/copy-request';
import { destinationUri } from '../../plugin/relay/destination';
import { openingHeaders } from '../../plugin/relay/leg-headers';
import { detour } from '../../plugin/relay/server-traps';
import { answerText, requestText } from '../fixtures/messages';

const MENDED: LinkCapabilities = {
  ...DRACHTIO_CAPABILITIES,
  exactHeaders: true,
  hostlessContactSafe: true,
  binaryBodies: true,
};

const read = (text: string): SipMessage => {
  const { message } = parseMessage(text);
  if (message === undefined) throw new Error('unreadable');
  return message;
};

describe('the way around a defect of the SIP server', () => {
  const way = (
    chosen: 'forward' | 'proxy' | 'b2bua',
    parts: Parameters<typeof requestText>[0],
    requestUri = 'sip:1002@example.com',
    can = DRACHTIO_CAPABILITIES,
  ): string | undefined => detour(chosen, read(requestText(parts)), requestUri, can)?.way;

  it.each([
    ['proxy', 'INVITE', '*', 'refuser'],
    ['b2bua', 'SUBSCRIBE', '<tel:+1202>', 'refuser'],
    ['forward', 'REGISTER', '*', undefined],
    ['proxy', 'REGISTER', '<sip:a@192.0.2.1>', 'forward'],
    ['proxy', 'SUBSCRIBE', '<sip:a@x.invalid;transport=ws>', 'b2bua'],
    ['proxy', 'SUBSCRIBE', '<sip:a@192.0.2.1>', undefined],
    ['proxy', 'INVITE', '<sip:a@[2001:db8::1]:5060>', undefined],
    ['proxy', 'INVITE', '<mailto:a@b>', undefined],
  ] as const)('%s of %s with Contact %s: %s', (chosen, method, contact, expected) => {
    expect(way(chosen, { method, contact })).toBe(expected);
    expect(way(chosen, { method, contact }, undefined, MENDED)).toBeUndefined();
  });

  it.each([
    ['forward', 'MESSAGE', 'urn:service:sos', 'proxy'],
    ['forward', 'MESSAGE', 'sip:+1202;npdi@example.com', 'proxy'],
    ['b2bua', 'INVITE', 'urn:service:sos', 'proxy'],
    ['b2bua', 'INVITE', 'sip:1002@example.com;npdi', undefined],
    ['forward', 'REGISTER', 'urn:x:y', 'refuse'],
  ] as const)('%s of %s to %s: %s', (chosen, method, uri, expected) => {
    expect(way(chosen, { method }, uri)).toBe(expected);
    expect(way(chosen, { method }, uri, MENDED)).toBeUndefined();
  });

  it('two dialogs of another method than INVITE and SUBSCRIBE are refused: they would be an INVITE', () => {
    for (const can of [DRACHTIO_CAPABILITIES, MENDED]) {
      expect(way('b2bua', { method: 'REFER' }, undefined, can)).toBe('refuse');
      expect(way('proxy', { method: 'REFER' }, undefined, can)).toBeUndefined();
    }
  });

  it('a header with an escaped NUL is proxied as it is, or refused, whatever the server', () => {
    const lines = ['X-Name: "a\\\0b"'];
    for (const can of [DRACHTIO_CAPABILITIES, MENDED]) {
      expect(way('proxy', { method: 'INVITE', lines }, undefined, can)).toBeUndefined();
      expect(way('b2bua', { method: 'INVITE', lines }, undefined, can)).toBe('proxy');
      expect(way('forward', { method: 'MESSAGE', lines }, undefined, can)).toBe('proxy');
      expect(way('forward', { method: 'REGISTER', lines }, undefined, can)).toBe('refuse');
    }
    expect(way('forward', { method: 'MESSAGE', body: 'a\0b' }, undefined, MENDED)).toBeUndefined();
  });

  it('a body with a NUL byte goes by proxy, since the server would cut it', () => {
    expect(way('forward', { method: 'MESSAGE', body: 'a\0b' })).toBe('proxy');
    expect(way('forward', { method: 'MESSAGE', body: 'ab' })).toBeUndefined();
  });
});

describe('headers of a forwarded request', () => {
  const copy = (
    lines: readonly string[],
    policy: Parameters<typeof copyRequestHeaders>[1] = {},
    can = DRACHTIO_CAPABILITIES,
  ): string[] =>
    copyRequestHeaders(read(requestText({ lines })), policy, can).map(([name, value]) => `${name}: ${value}`);

  it('give the server what it must not look into under compact names', () => {
    expect(copy([])).toEqual(
      expect.arrayContaining([
        'v: SIP/2.0/UDP 192.0.2.33:5060;branch=z9hG4bK1;rport',
        'm: <sip:1001@192.0.2.33:5060>',
        'Max-Forwards: 69',
      ]),
    );
    expect(copy([], {}, MENDED)).toContain('Contact: <sip:1001@192.0.2.33:5060>');
  });

  it('give it long names for what it must know', () => {
    expect(copy(['k: path', 's: hello'])).toEqual(
      expect.arrayContaining(['Supported: path', 'Subject: hello']),
    );
  });

  it('have our Path on top of the others in one line', () => {
    expect(copy(['Path: <sip:a;lr>', 'Path: <sip:b;lr>, <sip:c;lr>'], { path: '<sip:us;lr>' })).toContain(
      'Path: <sip:us;lr>, <sip:a;lr>, <sip:b;lr>, <sip:c;lr>',
    );
  });

  it('never carry a Route of the sender', () => {
    expect(copy(['Route: <sip:192.0.2.66;lr>']).join('\n')).not.toMatch(/route/i);
  });

  it('leave out what policy takes away, whatever its form, and what would be taken for it', () => {
    const lines = ['P-Asserted-Identity: <sip:a@b>', 'P_Asserted_Identity: <sip:a@b>', 'Payload: x', 's: y'];
    const text = copy(lines, { remove: ['p-asserted-identity', 'Subject'] }).join('\n');
    expect(text).not.toMatch(/asserted|payload|subject/i);
    expect(copy(lines, {}, MENDED)).toContain('P_Asserted_Identity: <sip:a@b>');
  });
});

describe('the To of a second dialog', () => {
  it.each([
    ['"x;tag=y z" <sip:1002@example.com>', '"x;tag=y z" <sip:1002@example.com>'],
    ['<sip:10;tag=2@example.com>;x=y', '<sip:10;tag=2@example.com>;x=y'],
    ['<sip:1002@example.com> ; tag = abc;x=y', '<sip:1002@example.com> ;x=y'],
  ])('%s is %s', (to, expected) => {
    const message = read(requestText({ method: 'INVITE' }).replace(/^To: .*/m, `To: ${to}`));
    expect(openingHeaders(message, {}, DRACHTIO_CAPABILITIES)).toContainEqual(['To', expected]);
  });
});

describe('headers of an answer', () => {
  const copy = (status: number, lines: readonly string[], method = 'REGISTER', can = DRACHTIO_CAPABILITIES) =>
    copyAnswer(method, read(answerText(requestText({ method }), status, lines)), can);

  it('are without what a side may not say that is not believed', () => {
    const answer = read(
      answerText(requestText({ method: 'MESSAGE' }), 200, ['P-Asserted-Identity: <sip:a@b>']),
    );
    const names = (distrusted?: 'caller' | 'callee'): string[] =>
      (copyAnswer('MESSAGE', answer, MENDED, distrusted).headers ?? []).map(([name]) => name);
    expect(names('callee')).not.toContain('P-Asserted-Identity');
    for (const other of ['caller', undefined] as const) expect(names(other)).toContain('P-Asserted-Identity');
  });

  it('hide the Contacts of a 2xx to REGISTER and carry their lifetime', () => {
    const { headers } = copy(200, ['Contact: <sip:a@b>, "x, y" <sip:c@d>;expires=5', 'Expires: 60']);
    expect(headers).toContainEqual(['M', '<sip:a@b>;expires=60, "x, y" <sip:c@d>;expires=5']);
    expect(headers?.some(([name]) => /^(contact|expires)$/i.test(name))).toBe(false);
  });

  it('give each Contact of a redirection a line of its own, since of several in one the first alone is sent', () => {
    const contacts = (can?: LinkCapabilities): string[] =>
      (copy(302, ['Contact: "a, b" <sip:a@b>;q=1, <sip:c@d>;q=0.5'], 'INVITE', can).headers ?? []).flatMap(
        ([name, value]) => (name === 'Contact' ? [value] : []),
      );
    expect(contacts()).toEqual(['"a, b" <sip:a@b>;q=1', '<sip:c@d>;q=0.5']);
    expect(contacts(MENDED)).toEqual(['"a, b" <sip:a@b>;q=1, <sip:c@d>;q=0.5']);
  });

  it('stay as they are elsewhere', () => {
    expect(copy(302, ['Contact: <sip:a@b>', 'Expires: 60'], 'MESSAGE').headers).toEqual(
      expect.arrayContaining([
        ['Contact', '<sip:a@b>'],
        ['Expires', '60'],
      ]),
    );
    expect(copy(200, ['Contact: <sip:a@b>'], 'REGISTER', MENDED).headers).toContainEqual([
      'Contact',
      '<sip:a@b>',
    ]);
  });

  it('never carry Session-Expires, which the server would put to use by itself', () => {
    expect(copy(200, ['Session-Expires: 90', 'x: 90'], 'INVITE').headers?.join('\n')).not.toMatch(/90/);
  });

  it('keep the far side’s To tag', () => {
    expect(copy(401, []).headers).toContainEqual(['To', '<sip:1001@example.com>;tag=site']);
  });

  it.each([
    [
      '"B, \\"x\\"" <sip:1@h;user=phone>;foo="b r";tag=t;x',
      '"B, \\"x\\"" <sip:1@h;user=phone>;foo="b r";x;tag=t',
    ],
    ['Bob <sip:1@h>;tag=t', '"Bob" <sip:1@h>;tag=t'],
    ['sip:1@h;x=y;tag=t', '<sip:1@h>;x=y;tag=t'],
    ['"tag=x" <sip:1@h>;tag=t', '<sip:1@h>;tag=t'],
    ['"a\\\0" <sip:1@h>;tag=t', '<sip:1@h>;tag=t'],
  ])('keep the rest of To, too, its tag last: %s', (to, expected) => {
    const answer = read(answerText(requestText(), 200).replace(/^To: .*/m, `To: ${to}`));
    expect(copyAnswer('REGISTER', answer, DRACHTIO_CAPABILITIES).headers).toContainEqual(['To', expected]);
  });
});

describe('a destination', () => {
  it.each([
    [
      'sip:192.0.2.1:5070;transport=tcp',
      'sip:+1202;npdi@example.com',
      'sip:+1202;npdi@192.0.2.1:5070;transport=tcp',
    ],
    ['sip:192.0.2.1', 'sip:1@example.com;user=phone', 'sip:1@192.0.2.1;user=phone'],
    ['sip:192.0.2.1', 'urn:service:sos', 'sip:192.0.2.1'],
    ['sip:192.0.2.1', 'tel:+1202', 'sip:192.0.2.1'],
    ['sip:[2001:db8::1]:5060', 'sip:a@example.com', 'sip:a@[2001:db8::1]:5060'],
  ])('%s for %s is %s', (target, uri, expected) => {
    expect(destinationUri(target, uri)).toBe(expected);
  });
});
