import { buildResponse } from '../../plugin/message/build';
import { param } from '../../plugin/message/name-addr';
import { parseMessage } from '../../plugin/message/parse';
import type { SipMessage } from '../../plugin/message/sip-message';
import { parseUri } from '../../plugin/message/uri';
import { checkRequest } from '../../plugin/message/validate';
import { handedFile, handedFiles } from '../fixtures/sip-files';

const read = (prefix: string): SipMessage => {
  const result = parseMessage(handedFile(prefix));
  if (!result.ok) throw new Error(result.reason);
  return result.message;
};
const check = (prefix: string): number | undefined => {
  const message = read(prefix);
  return checkRequest(message, message.via?.transport === 'TCP' ? 'stream' : 'datagram')?.status;
};

/** Refused by the parser or by checkRequest; every other handed message is in order. */
const REFUSED = ['02-', '03-', '13-', '21-', '22-'];

describe('the handed cases, as the parser sees them', () => {
  it.each(handedFiles().map(({ name, raw }) => [name, raw] as const))(
    '%s: refused or let through as it should be',
    (name, raw) => {
      const result = parseMessage(raw);
      const stream = result.message?.via?.transport === 'TCP' ? 'stream' : 'datagram';
      const refused = !result.ok || checkRequest(result.message, stream) !== undefined;
      expect(refused).toBe(REFUSED.some((prefix) => name.startsWith(prefix)));
    },
  );

  it.each(['01-register-star-tcp.sip', '01-register-star-tcp-compact.sip'])(
    'H01: %s is one star Contact',
    (name) => {
      const message = read(name);
      expect(message.contacts).toEqual([{ uri: '*', params: [], text: '*' }]);
      expect(message.expires).toBe(0);
    },
  );

  it('H01: a star with another Expires, a second Contact, or outside REGISTER is 400', () => {
    const text = handedFile('01-register-star-tcp.sip');
    const status = (changed: string): number | undefined => {
      const result = parseMessage(changed);
      return result.ok ? checkRequest(result.message, 'stream')?.status : 400;
    };
    expect(status(text.replace('Expires: 0', 'Expires: 60'))).toBe(400);
    expect(status(text.replace('Contact: *', 'Contact: *, <sip:a@b>'))).toBe(400);
    expect(status(text.replaceAll('REGISTER', 'MESSAGE'))).toBe(400);
  });

  it('H02: a bare word is no Contact', () => {
    expect(check('02')).toBe(400);
    expect(read('02').contacts).toEqual([]);
  });

  it('H03: a line without a name is malformed, and the request can be answered', () => {
    const result = parseMessage(handedFile('03'));
    expect(result).toMatchObject({ ok: false, reason: 'a header line without a name' });
    expect(buildResponse(result.message!, { status: 400 })).toContain('CSeq: 2 REGISTER\r\n');
  });

  it('H08: commas in quotes do not split a Contact', () => {
    const { contacts } = read('08');
    expect(contacts.map((contact) => [contact.displayName, contact.uri])).toEqual([
      ['Desk, left', 'sip:1001@192.0.2.33:5060;transport=udp'],
      [undefined, 'sip:1001@192.0.2.34:5060'],
    ]);
    expect(param(contacts[0]!.params, '+g.example.langs')).toBe('en,fr');
  });

  it('H09: a bare URI ends at its first semicolon, whatever brackets follow', () => {
    const contact = read('09').contacts[0];
    expect(contact?.uri).toBe('sip:1001@192.0.2.33:5060');
    expect(param(contact!.params, '+sip.instance')).toBe('<urn:uuid:00000000-0000-1000-8000-00a0c9000001>');
    expect(param(contact!.params, 'expires')).toBe('300');
  });

  it('H10: a body is counted and kept in bytes', () => {
    const { body, contentLength } = read('10');
    expect([body.length, contentLength]).toEqual([34, 34]);
    expect(Buffer.from(body, 'latin1').toString('utf8')).toBe('café 日本 📞👩‍💻 end\r\n');
  });

  it('H11: a user part of 240 digits is whole', () => {
    expect(parseUri(read('11').uri)?.user).toHaveLength(240);
  });

  it('H12: a tel URI has no host and keeps its separators', () => {
    expect(parseUri(read('12').uri)).toEqual({
      scheme: 'tel',
      user: '+1-202-555-0123',
      host: '',
      params: [],
    });
    expect(check('12')).toBeUndefined();
  });

  it.each(['13-register-contact-percent.sip', '13-register-contact-percent-ruri.sip'])(
    'H13: %s is 400',
    (name) => {
      expect(check(name)).toBe(400);
    },
  );

  it('H21: a Content-Length of 2^31 or 2^32-1 over a short body is 400', () => {
    expect(check('21')).toBe(400);
    const larger = parseMessage(handedFile('21').replace('2147483648', '4294967295'));
    expect(checkRequest(larger.message!, 'datagram')?.status).toBe(400);
  });

  it('H22: two To headers are 400, answered from the first', () => {
    expect(check('22')).toBe(400);
    const answer = buildResponse(read('22'), { status: 400, toTag: 'x' });
    expect(answer).toContain('To: <sip:1001@example.com>;tag=x\r\n');
    expect(answer.match(/^To:/gm)).toHaveLength(1);
  });

  it('H22: an empty tag alone is 400 too', () => {
    const result = parseMessage(handedFile('22').replace('To: <sip:1001@example.com>\r\n', ''));
    expect(checkRequest(result.message!, 'datagram')).toEqual({
      status: 400,
      reason: 'Malformed To header field',
    });
  });

  it('H28: every token char may stand in a header name', () => {
    const message = read('28');
    expect(message.headers.filter(({ key }) => key.startsWith('x') || key.startsWith('p-'))).toEqual([
      { name: 'P-Vendor.Example.Flag', key: 'p-vendor.example.flag', value: '1' },
      { name: "X-All!%*_+`'~Marks", key: "x-all!%*_+`'~marks", value: 'yes' },
      { name: 'x.lower.case', key: 'x.lower.case', value: 'Kept;as=is' },
    ]);
  });

  it('H40: a header with nothing, or blanks, behind the colon is there and empty', () => {
    const message = read('40');
    const values = ['subject', 'organization', 'supported', 'x-spaces'].map((name) => message.get(name));
    expect(values).toEqual(['', '', '', '']);
    expect(message.list('supported')).toEqual([]);
  });

  it('H41: values at buffer sizes are whole', () => {
    const lengths = read('41')
      .headers.filter(({ key }) => key.startsWith('x-b'))
      .map(({ key, value }) => [Number(key.slice(3)), value.length]);
    expect(lengths.length).toBeGreaterThan(5);
    for (const [wanted, length] of lengths) expect(length).toBe(wanted);
  });
});
