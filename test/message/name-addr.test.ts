import { param, parseNameAddr, splitList } from '../../plugin/message/name-addr';
import { formatVia, parseVia } from '../../plugin/message/via';

describe('parseNameAddr', () => {
  it.each([
    ['sip:a@h;tag=1', { uri: 'sip:a@h', params: [['tag', '1']] }],
    ['<sip:a@h;x=1>;tag=1', { uri: 'sip:a@h;x=1', params: [['tag', '1']] }],
    ['A. B <sip:a@h>', { displayName: 'A. B', uri: 'sip:a@h' }],
    ['Caf\xc3\xa9<sip:a@h>', { displayName: 'Caf\xc3\xa9' }],
    ['"a \\"b\\\\" <sip:a@h>', { displayName: 'a "b\\' }],
    ['"" <tel:+1>', { displayName: '', uri: 'tel:+1' }],
    ['"<sip:evil@x>" <sip:a@h>', { uri: 'sip:a@h' }],
    [
      '<sip:a@h> ; x = "q;,\\"" ; y',
      {
        params: [
          ['x', 'q;,"'],
          ['y', undefined],
        ],
      },
    ],
    ['<sip:a@h>;tag=', { params: [['tag', '']] }],
  ])('%s', (text, expected) => expect(parseNameAddr(text)).toMatchObject({ ...expected, text }));

  it.each([
    '',
    'None',
    '<>',
    '<sip:>',
    '<sip:a@h',
    'sip:a@h>',
    '< sip:a@h>',
    '<sip:a@h >',
    '"open <sip:a@h>',
    '"a" sip:a@h',
    '"a"',
    'Bell, A <sip:a@h>',
    'sip:a@h?x=y',
    'sip:a@h, sip:b@h',
    '<sip:a@h>;;',
    '<sip:a@h>;',
    '<sip:a@h>x',
    '<sip:a@h>;x="open',
    '<sip:a@h><sip:b@h>',
    'a:b <sip:a@h>',
  ])('refuses %j', (text) => expect(parseNameAddr(text)).toBeUndefined());

  it('finds a parameter in any case', () => {
    const params = parseNameAddr('<sip:a@h>;Expires=5;q')!.params;
    expect([param(params, 'expires'), param(params, 'Q'), param(params, 'x')]).toEqual([
      '5',
      true,
      undefined,
    ]);
  });
});

describe('splitList', () => {
  it.each([
    ['', []],
    [' \t', []],
    ['a', ['a']],
    ['a , b', ['a', 'b']],
    ['a,,b,', ['a', '', 'b', '']],
    ['"a,b" <sip:x,y>, c', ['"a,b" <sip:x,y>', 'c']],
    ['"a\\",b", c', ['"a\\",b"', 'c']],
    ['"open, a', ['"open, a']],
    ['<open, a', ['<open, a']],
  ])('%j', (text, expected) => expect(splitList(text)).toEqual(expected));
});

describe('parseVia', () => {
  it.each([
    ['SIP/2.0/UDP h', { transport: 'UDP', host: 'h' }],
    [
      'sip / 2.0 / tcp  H.example : 5070 ; branch = z9 ; rport = 7',
      { transport: 'TCP', host: 'h.example', port: 5070, branch: 'z9', rport: 7 },
    ],
    [
      'SIP/2.0/WSS [2001:DB8::1];rport;received=2001:db8::2',
      { host: '[2001:db8::1]', rport: true, received: '2001:db8::2' },
    ],
    ['SIP/2.0/X h;rport=', { rport: true }],
  ])('%s', (text, expected) => expect(parseVia(text)).toMatchObject({ ...expected, text }));

  it.each([
    '',
    'SIP/2.0/UDP',
    'SIP/2.0/UDPh',
    'SIP/3.0/UDP h',
    'SIP/2.0/UDP h;;',
    'SIP/2.0/UDP h:',
    'SIP/2.0/UDP h:99999',
    'SIP/2.0/UDP [::1',
    'SIP/2.0/UDP h;rport=x',
    'SIP/2.0/UDP h i',
    'HTTP/2.0/UDP h',
  ])('refuses %j', (text) => expect(parseVia(text)).toBeUndefined());

  it('is written back, quoting what needs it', () => {
    const via = parseVia('SIP/2.0/UDP [::1]:5;branch=z9;x="a b";received=::2;y')!;
    expect(formatVia(via)).toBe('SIP/2.0/UDP [::1]:5;branch=z9;x="a b";received=::2;y');
  });
});
