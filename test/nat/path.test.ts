import { parseNameAddr } from '../../plugin/message/name-addr';
import { parseMessage } from '../../plugin/message/parse';
import type { SipMessage } from '../../plugin/message/sip-message';
import { parseUri } from '../../plugin/message/uri';
import { detectNat } from '../../plugin/nat/detect';
import { pathValue, takesPath, wantsOutbound } from '../../plugin/nat/path';

const register = (
  changes: { via?: string; contact?: string; supported?: string; more?: string } = {},
): SipMessage => {
  const result = parseMessage(
    [
      'REGISTER sip:example.com SIP/2.0',
      `Via: SIP/2.0/UDP ${changes.via ?? '192.0.2.33:5060;branch=z9hG4bK-h04;rport'}`,
      ...(changes.more === undefined ? [] : [changes.more]),
      'Max-Forwards: 70',
      'From: <sip:1001@example.com>;tag=f1',
      'To: <sip:1001@example.com>',
      'Call-ID: h04@example.net',
      'CSeq: 1 REGISTER',
      `Contact: ${changes.contact ?? '<sip:1001@192.0.2.33:5060;rinstance=7f3a>;expires=120'}`,
      `Supported: ${changes.supported ?? 'path'}`,
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n'),
  );
  if (!result.ok) throw new Error(result.reason);
  return result.message;
};
const from = (address: string, port: number, transport: 'udp' | 'tcp' | 'wss' = 'udp') => ({
  address,
  port,
  transport,
});

describe('pathValue', () => {
  const entry = { address: '198.51.100.10', port: 5060 };

  it('is a loose route with the token as its user', () => {
    expect(pathValue({ token: 'TOKEN', entry, outbound: false })).toBe('<sip:TOKEN@198.51.100.10:5060;lr>');
  });

  it('carries ob and the transport the site is to use', () => {
    expect(pathValue({ token: 'TOKEN', entry, outbound: true, transport: 'tcp' })).toBe(
      '<sip:TOKEN@198.51.100.10:5060;transport=tcp;lr;ob>',
    );
  });

  it('H06: puts an IPv6 address in brackets, so that it parses', () => {
    const value = pathValue({
      token: 'TOKEN',
      entry: { address: '2001:db8::10', port: 5060 },
      outbound: false,
    });
    const uri = parseUri(parseNameAddr(value)?.uri ?? '');
    expect(uri).toMatchObject({ user: 'TOKEN', host: '[2001:db8::10]', port: 5060 });
  });
});

describe('wantsOutbound', () => {
  const asking = {
    supported: 'path, Outbound',
    contact: '<sip:1001@192.0.2.33>;reg-id=1;+sip.instance="<urn:uuid:1>"',
  };

  it('is true for a first-hop REGISTER with reg-id and Supported: outbound', () => {
    expect(wantsOutbound(register(asking))).toBe(true);
  });

  it('is false without reg-id, without the option, or behind another proxy', () => {
    expect(wantsOutbound(register({ ...asking, contact: '<sip:1001@192.0.2.33>' }))).toBe(false);
    expect(wantsOutbound(register({ ...asking, supported: 'path' }))).toBe(false);
    expect(wantsOutbound(register({ ...asking, more: 'Via: SIP/2.0/UDP 192.0.2.99;branch=z9hG4bK-x' }))).toBe(
      false,
    );
  });
});

describe('takesPath', () => {
  it('follows the configured mode', () => {
    expect(takesPath(register({ supported: 'timer' }), 'always')).toBe(true);
    expect(takesPath(register({ supported: 'timer' }), 'when_supported')).toBe(false);
    expect(takesPath(register({ supported: 'gruu, path' }), 'when_supported')).toBe(true);
  });
});

describe('detectNat', () => {
  it('H04: sees a source that differs from Via and Contact', () => {
    expect(detectNat(register(), from('203.0.113.7', 40123))).toBe('via_differs');
  });

  it('sees a port that differs', () => {
    expect(detectNat(register(), from('192.0.2.33', 40123))).toBe('via_differs');
  });

  it('sees a Contact that differs though Via is right', () => {
    expect(detectNat(register({ via: '203.0.113.7:5060;branch=z9hG4bK-1' }), from('203.0.113.7', 5060))).toBe(
      'contact_differs',
    );
  });

  it('says nothing of a device that is where it says, private or not', () => {
    expect(detectNat(register(), from('192.0.2.33', 5060))).toBeUndefined();
    const lan = register({ via: '10.0.0.5;branch=z9hG4bK-1', contact: '<sip:1001@10.0.0.5>' });
    expect(detectNat(lan, from('10.0.0.5', 5060))).toBeUndefined();
  });

  it('says nothing because of names, a star or tel:', () => {
    const named = (contact: string) => register({ via: 'phone.example.com;branch=z9hG4bK-1', contact });
    for (const contact of ['<sip:1001@phone.example.com>', '*', '<tel:+12025550123>'])
      expect(detectNat(named(contact), from('203.0.113.7', 5060))).toBeUndefined();
  });

  it('compares IPv6 addresses by value', () => {
    const v6 = register({
      via: '[2001:DB8::33]:5070;branch=z9hG4bK-1',
      contact: '<sip:1002@[2001:db8:0::33]:5070>',
    });
    expect(detectNat(v6, from('2001:db8::33', 5070))).toBeUndefined();
    expect(detectNat(v6, from('2001:db8::34', 5070))).toBe('via_differs');
  });

  it('treats every stream and every .invalid Contact as reachable by its flow only', () => {
    expect(detectNat(register(), from('192.0.2.33', 5060, 'tcp'))).toBe('stream');
    const browser = register({
      via: 'df7jal23ls0d.invalid;branch=z9hG4bK-1',
      contact: '<sip:1001@df7jal23ls0d.invalid;transport=ws>',
    });
    expect(detectNat(browser, from('203.0.113.7', 5060))).toBe('contact_unreachable');
  });
});
