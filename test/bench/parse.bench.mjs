// Header parsing for routing: To, From, Contact and Via with their parameters and URIs, by the native scanner, by its
// TypeScript twin and by drachtio-srf (getParsedHeader and parseUri on a message that its class has already split).
// The scanners' figures include the whole scan and slicing the same fields out of the text. Nanoseconds of CPU time
// a message, medians of RUNS interleaved runs, so that other work on the machine counts as little as possible.
// Bars (REGISTER): native <= 400 ns on a quiet machine, srf >= 15 x native, twin >= 1.5 x native.
import { createRequire } from 'node:module';

const require = createRequire(import.meta.url);
const { loadAddon } = require('../../dist/native.js');
const { scanMessage } = require('../../dist/message/scan/message.js');
const { ADDRESS, HEAD, ID, LINE, URI, VIA } = require('../../dist/message/scan/layout.js');
const SrfMessage = require('drachtio-srf/lib/sip-parser/message');
const srfParser = require('drachtio-srf/lib/sip-parser/parser');

const RUNS = 9;
const ROUND_MS = 60;

/** As it comes off the wire: one flat string of one byte a char. */
const crlf = (lines, body = '') =>
  Buffer.from(`${lines.join('\r\n')}\r\n\r\n${body}`, 'latin1').toString('latin1');

const register = crlf([
  'REGISTER sip:registrar.example.com;transport=udp SIP/2.0',
  'Via: SIP/2.0/UDP 192.0.2.33:5060;branch=z9hG4bK-524287-1---3c8a7b5e2d9f6a41;rport',
  'Max-Forwards: 70',
  'Contact: <sip:+12025550123@192.0.2.33:5060;transport=udp;rinstance=7f3a9c1e5b2d8f60>;+sip.instance="<urn:uuid:00000000-0000-1000-8000-00a0c9000001>";reg-id=1;expires=3600',
  'To: "Front Desk" <sip:+12025550123@registrar.example.com>',
  'From: "Front Desk" <sip:+12025550123@registrar.example.com>;tag=8f3b2c71',
  'Call-ID: 97076YmJlZDk4NWFhZGFhNjQ4YjE0MDYzZjRkYWNmZjg',
  'CSeq: 2 REGISTER',
  'Expires: 3600',
  'Allow: INVITE, ACK, CANCEL, OPTIONS, BYE, REFER, NOTIFY, MESSAGE, SUBSCRIBE, INFO',
  'Supported: path, outbound, gruu',
  'User-Agent: ExamplePhone 5.8.3 (build 102651)',
  'Authorization: Digest username="12025550123",realm="example.com",nonce="4f2a",uri="sip:registrar.example.com",response="0a1b2c3d4e5f60718293a4b5c6d7e8f9"',
  'Content-Length: 0',
]);

const sdp = [
  'v=0',
  'o=- 1 1 IN IP4 192.0.2.33',
  's=-',
  'c=IN IP4 192.0.2.33',
  't=0 0',
  'm=audio 40000 RTP/AVP 0 8 9 18 101',
]
  .concat(
    ['0 PCMU/8000', '8 PCMA/8000', '9 G722/8000', '18 G729/8000', '101 telephone-event/8000'].map(
      (map) => `a=rtpmap:${map}`,
    ),
  )
  .concat(
    Array.from(
      { length: 12 },
      (_, i) => `a=candidate:${i} 1 UDP ${2130706431 - i} 192.0.2.33 ${40000 + i} typ host`,
    ),
  )
  .join('\r\n');
const invite = crlf(
  [
    'INVITE sip:+12025550199@example.com;user=phone SIP/2.0',
    'Via: SIP/2.0/UDP 203.0.113.40:5060;branch=z9hG4bK-d8754z-a1b2c3d4e5f6a7b8-1---d8754z-',
    'Via: SIP/2.0/TCP 192.0.2.33:5060;branch=z9hG4bK-d8754z-0011223344556677-1---d8754z-;received=203.0.113.7;rport=40812',
    'Record-Route: <sip:203.0.113.40;lr;ftag=8f3b2c71>',
    'Max-Forwards: 69',
    'Contact: <sip:+12025550123@192.0.2.33:5060;transport=tcp>;+g.3gpp.icsi-ref="urn%3Aurn-7%3A3gpp-service.ims.icsi.mmtel"',
    'To: <sip:+12025550199@example.com;user=phone>',
    'From: "Front Desk" <sip:+12025550123@example.com>;tag=8f3b2c71',
    'Call-ID: 97076YmJlZDk4NWFhZGFhNjQ4YjE0MDYzZjRkYWNmZjg',
    'CSeq: 1 INVITE',
    'Allow: INVITE, ACK, CANCEL, OPTIONS, BYE, REFER, NOTIFY, MESSAGE, SUBSCRIBE, INFO, UPDATE, PRACK',
    'Supported: replaces, norefersub, extended-refer, timer, outbound, path, gruu',
    'User-Agent: ExamplePhone 5.8.3 (build 102651)',
    'Session-Expires: 1800;refresher=uac',
    'Min-SE: 90',
    'P-Asserted-Identity: "Front Desk" <sip:+12025550123@example.com>',
    'Privacy: none',
    'History-Info: <sip:+12025550100@example.com>;index=1, <sip:+12025550199@example.com;cause=302>;index=1.1',
    'Accept: application/sdp, application/isup, application/dtmf, multipart/mixed',
    'P-Early-Media: supported',
    'Content-Type: application/sdp',
    `Content-Length: ${sdp.length}`,
  ],
  sdp,
);

const table = new Int32Array(1024);

/** What routing reads, sliced out of the table; returned so that nothing is optimised away. */
function slice(text) {
  const pair = (at) => (table[at] < 0 ? undefined : text.slice(table[at], table[at + 1]));
  const address = (id) => {
    const at = table[HEAD.FIRST + id] + LINE.SIZE;
    const uri = at + ADDRESS.URI_SPLIT;
    return [
      pair(uri + URI.USER),
      pair(uri + URI.HOST),
      table[uri + URI.PORT],
      pair(at + ADDRESS.TAG),
      pair(at + ADDRESS.EXPIRES),
    ];
  };
  const via = table[HEAD.FIRST + ID.VIA] + LINE.SIZE;
  return [
    address(ID.TO),
    address(ID.FROM),
    address(ID.CONTACT),
    pair(via + VIA.HOST),
    table[via + VIA.PORT],
    pair(via + VIA.BRANCH),
  ];
}

const scanWith = (scan) => (text) => {
  scan(text, table);
  return slice(text);
};

function withSrf(text) {
  const message = new SrfMessage(text);
  return () => {
    const [to, from, via] = ['To', 'From', 'Via'].map((name) => message.getParsedHeader(name));
    const contact = message.getParsedHeader('Contact')[0];
    return [to, from, contact].map(({ uri, params }) => [srfParser.parseUri(uri), params]).concat(via);
  };
}

/** CPU nanoseconds a call. */
function time(call, text) {
  let calls = 0;
  const end = performance.now() + ROUND_MS;
  const before = process.cpuUsage();
  while (performance.now() < end) {
    for (let i = 0; i < 200; i++) call(text);
    calls += 200;
  }
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / calls;
}

const median = (list) => Math.round([...list].sort((a, b) => a - b)[list.length >> 1]);

const addon = loadAddon();
const contendersFor = (text) => ({
  native: scanWith(addon.scan),
  native_scan: (raw) => addon.scan(raw, table),
  twin: scanWith(scanMessage),
  twin_scan: (raw) => scanMessage(raw, table),
  srf: withSrf(text),
});
const result = {};
// Everything is compiled before anything is measured: what comes first must not pay for it.
for (let round = 0; round < 3; round++) {
  for (const text of [register, invite])
    for (const call of Object.values(contendersFor(text))) time(call, text);
}
for (const [name, text] of Object.entries({ register, invite })) {
  const contenders = contendersFor(text);
  const times = Object.fromEntries(Object.keys(contenders).map((key) => [key, []]));
  for (let run = 0; run < RUNS; run++) {
    for (const [key, call] of Object.entries(contenders)) times[key].push(time(call, text));
  }
  result[name] = Object.fromEntries(Object.entries(times).map(([key, list]) => [`${key}_ns`, median(list)]));
  const { native_ns: native, twin_ns: twin, srf_ns: srf } = result[name];
  result[name].srf_over_native = Math.round((srf / native) * 10) / 10;
  result[name].twin_over_native = Math.round((twin / native) * 100) / 100;
  if (!process.argv.includes('--json')) console.log(name, `${text.length} bytes`, result[name]);
}
console.log(JSON.stringify(result));
