import { formatUri, isIpv6, parseUri, uriParam } from '../../plugin/message/uri';

describe('parseUri', () => {
  it.each([
    ['sip:example.com', { scheme: 'sip', host: 'example.com' }],
    ['SIPS:Alice@Example.COM:5061', { scheme: 'sips', user: 'Alice', host: 'example.com', port: 5061 }],
    ['sip:alice:s%3Acret@h', { user: 'alice', password: 's%3Acret', host: 'h' }],
    ['sip:+1;npdi;rn=5@h;user=phone', { user: '+1;npdi;rn=5', params: [['user', 'phone']] }],
    ['sip:a/b?c@h', { user: 'a/b?c', host: 'h' }],
    ['sip:*21#@h', { user: '*21#' }],
    ['sip:a@[2001:db8::1]:5070;lr', { host: '[2001:db8::1]', port: 5070, params: [['lr', undefined]] }],
    ['sip:a@h;x=%20?Subject=hi&a=b', { params: [['x', '%20']], headers: 'Subject=hi&a=b' }],
    ['sip:h:0', { host: 'h', port: 0 }],
    [
      'tel:+1-202-555-0123;ext=7',
      { scheme: 'tel', user: '+1-202-555-0123', host: '', params: [['ext', '7']] },
    ],
    ['tel:*69;phone-context=+1', { user: '*69' }],
    ['urn:service:sos.police', { scheme: 'urn', user: 'service:sos.police', host: '' }],
    ['mailto:a@b', { scheme: 'mailto', user: 'a@b', host: '' }],
  ])('%s', (text, expected) => expect(parseUri(text)).toMatchObject(expected));

  it.each([
    '',
    'sip',
    'sip:',
    ':x',
    '1sip:h',
    'sip:@h',
    'sip:a@',
    'sip:a@b@c',
    'sip:a b@h',
    'sip:%@h',
    'sip:a%4@h',
    'sip:a%zz@h',
    'sip:h:',
    'sip:h:65536',
    'sip:h:12x',
    'sip:2001:db8::1',
    'sip:[2001:db8::1',
    'sip:[2001:db8:::1]',
    'sip:[::1]x',
    'sip:h;',
    'sip:h;;a',
    'sip:h;=a',
    'sip:h;a=%',
    'sip:h?',
    'sip:h?a=%1',
    'sip:a@h<',
    'sip:h\r\n',
    'tel:',
    'tel:+',
    'tel:-',
    'tel:alice',
    'urn:a b',
    'urn:é',
  ])('refuses %j', (text) => expect(parseUri(text)).toBeUndefined());

  it.each(['sip:a:p@h:1;x=1;lr?y=z', 'sips:h', 'tel:+1-2;ext=3', 'urn:service:sos', 'sip:a@[::1]:5'])(
    'writes %s back as it was',
    (text) => expect(formatUri(parseUri(text)!)).toBe(text),
  );

  it('finds a parameter in any case', () => {
    const uri = parseUri('sip:h;Transport=TCP;lr')!;
    expect([uriParam(uri, 'transport'), uriParam(uri, 'LR'), uriParam(uri, 'x')]).toEqual([
      'TCP',
      true,
      undefined,
    ]);
  });
});

describe('isIpv6', () => {
  it.each([
    '::',
    '::1',
    '1::',
    '1:2:3:4:5:6:7:8',
    '1:2:3:4:5:6:1.2.3.4',
    '::ffff:192.0.2.1',
    '1::8',
    '2001:db8::192.0.2.1',
  ])('takes %s', (text) => expect(isIpv6(text)).toBe(true));
  it.each([
    '',
    ':',
    '1',
    ':::',
    '1::2::3',
    '1:2:3:4:5:6:7',
    '1:2:3:4:5:6:7:8:9',
    '12345::',
    'g::',
    '::1.2.3',
    '::256.1.1.1',
    '1.2.3.4',
    '1.2.3.4::',
    '1:',
    ':1',
    'fe80::1%eth0',
  ])('refuses %s', (text) => expect(isIpv6(text)).toBe(false));
});
