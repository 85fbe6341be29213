// Reading a message for routing: the native scanner, its TypeScript twin, and drachtio-srf, on an 810-byte REGISTER and a
// 2.5 kB INVITE (lib/sip-messages.mjs). `npm run bench -- parse [--json]`; the last line is
// {"register":{"native_ns":…,"twin_ns":…,"srf_ns":…},"invite":{…}}.
//
// What is timed, from the message as a string to its fields:
// - native, twin: the scan of the whole message (start line and all headers, every address and URI checked and split), and
//   the fields of `read` below taken out of it as strings and numbers, as the program does; nothing else is sliced.
// - srf: getParsedHeader of the headers that those fields stand in, and parseUri of To, From and Contact. Splitting the message
//   into headers is not counted: its Message does that when it is made. With it: srf_with_split.
// Beside them: the scan alone, and an empty call, which is what any call into the addon costs (bootTime, less the clock).
//
// CPU nanoseconds a message, medians of RUNS interleaved runs, so that other work on the machine counts as little as possible.
// Bars (REGISTER): native <= 400, srf >= 15 x native, twin >= 1.5 x native.
import { createRequire } from 'node:module';
import { invite, register } from './lib/sip-messages.mjs';

const require = createRequire(import.meta.url);
const { loadAddon } = require('../../dist/native.js');
const { twinScannerFor } = require('../../dist/message/scanner.js');
const {
  ADDRESS,
  CREDENTIALS,
  HEAD,
  HEADER_IDS,
  LINE,
  URI,
  VIA,
} = require('../../dist/message/scan/layout.js');
const SrfMessage = require('drachtio-srf/lib/sip-parser/message');
const srfParser = require('drachtio-srf/lib/sip-parser/parser');

const RUNS = 9;
const ROUND_MS = 60;

/** Where the table tells the first line of a header. */
const first = (name) => HEAD.FIRST + HEADER_IDS.indexOf(name);
const FIRST = {
  to: first('to'),
  from: first('from'),
  contact: first('contact'),
  via: first('via'),
  callId: first('call-id'),
  cseq: first('cseq'),
  maxForwards: first('max-forwards'),
  authorization: first('authorization'),
};

/** Parts of an address's URI in its record. */
const SPLIT = {
  USER: ADDRESS.URI_SPLIT + URI.USER,
  HOST: ADDRESS.URI_SPLIT + URI.HOST,
  PORT: ADDRESS.URI_SPLIT + URI.PORT,
};

const table = new Int32Array(1024);
let text = '';
const slice = (at) => (table[at] < 0 ? undefined : text.slice(table[at], table[at + 1]));

/** The fields that a REGISTER and an INVITE are routed by; returned so that nothing is optimised away. */
function read() {
  const to = table[FIRST.to] + LINE.SIZE;
  const from = table[FIRST.from] + LINE.SIZE;
  const contact = table[FIRST.contact] + LINE.SIZE;
  const via = table[FIRST.via] + LINE.SIZE;
  const authorization = table[FIRST.authorization];
  return {
    toUser: slice(to + SPLIT.USER),
    toHost: slice(to + SPLIT.HOST),
    toPort: table[to + SPLIT.PORT],
    fromUser: slice(from + SPLIT.USER),
    fromHost: slice(from + SPLIT.HOST),
    fromPort: table[from + SPLIT.PORT],
    fromTag: slice(from + ADDRESS.TAG),
    contactUser: slice(contact + SPLIT.USER),
    contactHost: slice(contact + SPLIT.HOST),
    contactPort: table[contact + SPLIT.PORT],
    expires: slice(contact + ADDRESS.EXPIRES),
    viaHost: slice(via + VIA.HOST),
    viaPort: table[via + VIA.PORT],
    branch: slice(via + VIA.BRANCH),
    callId: slice(table[FIRST.callId] + LINE.VALUE),
    cseq: slice(table[FIRST.cseq] + LINE.VALUE),
    maxForwards: slice(table[FIRST.maxForwards] + LINE.VALUE),
    username: authorization === 0 ? undefined : slice(authorization + LINE.SIZE + CREDENTIALS.USERNAME),
  };
}

const SRF_HEADERS = ['To', 'From', 'Contact', 'Via', 'Call-ID', 'CSeq', 'Max-Forwards', 'Authorization'];

function readWithSrf(message, names) {
  const parsed = {};
  for (const name of names) parsed[name] = message.getParsedHeader(name);
  const uris = [parsed.To, parsed.From, parsed.Contact[0]].map(({ uri }) => srfParser.parseUri(uri));
  return [parsed, uris];
}

/** CPU nanoseconds a call. */
function time(call) {
  let calls = 0;
  const end = performance.now() + ROUND_MS;
  const before = process.cpuUsage();
  while (performance.now() < end) {
    for (let i = 0; i < 200; i++) call();
    calls += 200;
  }
  const { user, system } = process.cpuUsage(before);
  return ((user + system) * 1000) / calls;
}

const median = (list) => Math.round([...list].sort((a, b) => a - b)[list.length >> 1]);

const addon = loadAddon();
const nativeScan = addon.scannerFor(table);
const twinScan = twinScannerFor(table);

function contendersFor(raw) {
  const message = new SrfMessage(raw);
  const names = SRF_HEADERS.filter((name) => message.has(name));
  return {
    // Not one function for both: a program runs one of them, and knows which.
    native: () => {
      text = raw;
      nativeScan(raw);
      return read();
    },
    twin: () => {
      text = raw;
      twinScan(raw);
      return read();
    },
    srf: () => readWithSrf(message, names),
    native_scan: () => nativeScan(raw),
    twin_scan: () => twinScan(raw),
    srf_with_split: () => readWithSrf(new SrfMessage(raw), names),
    empty_call: () => addon.bootTime(),
  };
}

const messages = { register, invite };
// Everything is compiled before anything is measured: what comes first must not pay for it.
for (let round = 0; round < 3; round++) {
  for (const raw of Object.values(messages)) for (const call of Object.values(contendersFor(raw))) time(call);
}
const result = {};
for (const [name, raw] of Object.entries(messages)) {
  const contenders = contendersFor(raw);
  const times = Object.fromEntries(Object.keys(contenders).map((key) => [key, []]));
  for (let run = 0; run < RUNS; run++) {
    for (const [key, call] of Object.entries(contenders)) times[key].push(time(call));
  }
  const ns = Object.fromEntries(Object.entries(times).map(([key, list]) => [`${key}_ns`, median(list)]));
  const ratio = (other) => Math.round((other / ns.native_ns) * 10) / 10;
  console.log(name, `${raw.length} bytes`, {
    ...ns,
    srf_over_native: ratio(ns.srf_ns),
    twin_over_native: ratio(ns.twin_ns),
  });
  result[name] = { native_ns: ns.native_ns, twin_ns: ns.twin_ns, srf_ns: ns.srf_ns };
}
console.log(JSON.stringify(result));
