import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { readCapture } from '../../plugin/cli/capture';
import { parseMessage } from '../../plugin/message/parse';
import { checkRequest } from '../../plugin/message/validate';

/*
 * test/fixtures/captures holds what tcpdump 4.99.3 (-n -A, -n -X) and tshark 4.0.17 (-V, -x, -q -z follow,udp,ascii,0) printed
 * of one capture: an answer, then an INVITE of a vendor with a non-ASCII display name and a body.
 */
const FOLDER = join(__dirname, '../fixtures/captures');
const read = (text: string): ReturnType<typeof readCapture> => readCapture(text);
const INVITE = [
  'INVITE sip:1002@example.com SIP/2.0',
  'Via: SIP/2.0/UDP 192.0.2.70;branch=z9hG4bK-1',
  'From: <sip:a@b.example>;tag=1',
  'To: <sip:1002@example.com>',
  'Call-ID: c',
  'CSeq: 1 INVITE',
  'Content-Length: 3',
  '',
  'abc',
];

describe('a capture', () => {
  it.each(readdirSync(FOLDER))('%s: the request and its source are found', (name) => {
    const captured = read(readFileSync(join(FOLDER, name), 'latin1'));
    expect(captured).toMatchObject({ source: '127.77.2.70:5060', transport: 'udp' });
    const { message } = parseMessage(captured!.text);
    expect(message?.uri).toBe('sip:+12025550123@127.77.100.10;user=phone');
    expect(checkRequest(message!, 'datagram')).toBeUndefined();
    const named = message!.headers.map((header) => header.name);
    expect(named).toEqual([
      ...[
        'Via',
        'Max-Forwards',
        'From',
        'To',
        'Call-ID',
        'CSeq',
        'Contact',
        'Content-Type',
        'Content-Length',
      ],
    ]);
    expect(message!.get('contact')).toBe('<sip:127.77.2.70:5060>');
    expect(message!.get('from')).toMatch(/^"O'Neil, .+" <sip:\+442079460000@vendor\.example>;tag=f1$/);
    // tshark -V takes the body apart; the others show it.
    if (name !== 'tshark-V.txt') expect(message!.body).toMatch(/^v=0\r\n.*telephone-event\/8000\r\n$/s);
  });

  it.each([
    ['raw SIP', INVITE.join('\r\n'), {}],
    ['raw SIP with bare line feeds', INVITE.join('\n'), {}],
    [
      'sngrep',
      `2026/11/30 09:08:19.715200 192.0.2.70:5062 -> 198.51.100.10:5060\n${INVITE.join('\n')}\n\n2026/11/30 09:08:20 198.51.100.10:5060 -> 192.0.2.70:5062\nSIP/2.0 100 Trying\n`,
      { source: '192.0.2.70:5062' },
    ],
    [
      'ngrep -W byline',
      `#\nU 192.0.2.70:5062 -> 198.51.100.10:5060 #1\n${INVITE.slice(0, 7).join('.\n')}.\n.\nabc\n`,
      { source: '192.0.2.70:5062' },
    ],
    [
      'tcpdump -A over TCP and IPv6',
      `09:08:19.7 IP6 2001:db8::7.40812 > 2001:db8::10.5060: Flags [P.], seq 1:2, length 300: SIP: INVITE sip:1002@example.com SIP/2.0\n\`....,.@ .......INVITE${INVITE.join('\n').slice(6)}\n`,
      { source: '[2001:db8::7]:40812', transport: 'tcp' },
    ],
    [
      'tcpdump -A with names of ports',
      `09:08:19.7 IP 192.0.2.70.sip > 198.51.100.10.sip: SIP: INVITE sip:1002@example.com SIP/2.0\nE..x....${INVITE.join('\n')}\n`,
      { source: '192.0.2.70:5060', transport: 'udp' },
    ],
  ])('as %s', (_name, text, expected) => {
    const captured = read(text);
    expect(captured).toEqual({ text: INVITE.join('\r\n'), ...expected });
  });

  it('without a request is none', () => {
    expect(read('')).toBeUndefined();
    expect(read('SIP/2.0 200 OK\r\nVia: x\r\n\r\n')).toBeUndefined();
    expect(read('INVITE sip:1002@example.com SIP/2.0\n')).toBeUndefined();
  });
});
