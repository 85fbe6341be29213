/** A request as a capture shows it. */
export interface Captured {
  /** SIP text with CRLF line ends. */
  readonly text: string;
  /** `address:port`, IPv6 in brackets; absent where the capture does not tell. */
  readonly source?: string;
  readonly transport?: 'udp' | 'tcp';
}

const REQUEST_LINE = /([A-Z]+ [a-zA-Z][a-zA-Z0-9+.-]*:\S* SIP\/2\.0)(\.?)\r?\n(?=[A-Za-z][A-Za-z-]*[ \t]*:)/;

/**
 * The first request in a file: raw SIP, or text of tcpdump -A or -X, tshark -V, -x or follow, ngrep or sngrep. What such a
 * program makes of bytes that are no ASCII is lost. Undefined if there is none.
 */
export function readCapture(file: string): Captured | undefined {
  return fromDetails(file) ?? fromText(file) ?? fromHex(file);
}

/** The message as it stands, behind whatever the program printed in front of it. */
function fromText(file: string): Captured | undefined {
  const start = REQUEST_LINE.exec(file);
  if (start?.[1] === undefined) return undefined;
  const before = file.slice(0, start.index);
  let rest = file.slice(start.index).replace(/\r?\n/g, '\r\n');
  // ngrep -W byline shows the carriage return as a dot.
  if (start[2] === '.') rest = rest.replace(/\.\r\n/g, '\r\n');
  return { text: cut(rest), ...sourceBefore(before) };
}

/** Up to the end of the body; what follows is the next packet. */
function cut(text: string): string {
  const head = text.indexOf('\r\n\r\n');
  if (head < 0) return text.endsWith('\r\n') ? `${text}\r\n` : `${text}\r\n\r\n`;
  const length = /^(?:content-length|l)[ \t]*:[ \t]*(\d+)/im.exec(text.slice(0, head))?.[1];
  return length === undefined ? text : text.slice(0, head + 4 + Number(length));
}

const host = (address: string): string =>
  address.includes(':') && !address.startsWith('[') ? `[${address}]` : address;
const port = (text: string | undefined): string =>
  text === undefined || !/^\d+$/.test(text) ? '5060' : text;

/** The last packet that the program announced before the message. */
function sourceBefore(before: string): Pick<Captured, 'source' | 'transport'> {
  const tcpdump = [...before.matchAll(/^.*\bIP6? ([0-9a-f.:]+)\.([a-z0-9-]+) > .*$/gim)].at(-1);
  if (tcpdump?.[1] !== undefined) {
    const transport = /: Flags \[/.test(tcpdump[0]) ? 'tcp' : 'udp';
    return { source: `${host(tcpdump[1])}:${port(tcpdump[2])}`, transport };
  }
  const followed = followedSource(before);
  if (followed !== undefined) return followed;
  const grep = [...before.matchAll(/^(?:.*\s)?(\[[0-9a-f:]+\]|[\d.]+):(\d+) -> .*$/gim)].at(-1);
  return grep?.[1] === undefined ? {} : { source: `${grep[1]}:${port(grep[2])}` };
}

/** tshark -z follow: two nodes, and before each piece its length, indented where the second one sent it. */
function followedSource(before: string): Pick<Captured, 'source' | 'transport'> | undefined {
  const transport = /^Follow: (udp|tcp),/m.exec(before)?.[1];
  if (transport !== 'udp' && transport !== 'tcp') return undefined;
  const piece = [...before.matchAll(/^(\t?)\d+\r?$/gm)].at(-1);
  const node = new RegExp(`^Node ${piece?.[1] === '\t' ? 1 : 0}: (.*):(\\d+)\\r?$`, 'm').exec(before);
  if (node?.[1] === undefined) return undefined;
  return { source: `${host(node[1])}:${port(node[2])}`, transport };
}

/** tshark -V: each header line eight blanks in, what tshark says of it further in, the body left out. */
function fromDetails(file: string): Captured | undefined {
  const start = /^ {4}Request-Line: (.* SIP\/2\.0)\r?$/m.exec(file);
  if (start?.[1] === undefined) return undefined;
  const lines = file.slice(start.index).split(/\r?\n/).slice(1);
  const end = lines.findIndex((line) => !/^ {8}| {4}Message Header/.test(line));
  const headers = lines
    .slice(0, end < 0 ? undefined : end)
    .flatMap((line) => /^ {8}([A-Za-z][A-Za-z-]*: .*)$/.exec(line)?.[1] ?? [])
    // What it says of the Request-Line stands in front of the headers.
    .filter((line) => !/^(Method|Request-URI(?: .*)?|content-length): /i.test(line));
  const before = file.slice(0, start.index);
  const address = [...before.matchAll(/^Internet Protocol Version [46], Src: ([0-9a-f.:]+),/gm)].at(-1)?.[1];
  const layer = [...before.matchAll(/^(User Datagram|Transmission Control) Protocol, Src Port: (\d+)/gm)].at(
    -1,
  );
  return {
    text: [start[1], ...headers, 'Content-Length: 0', '', ''].join('\r\n'),
    ...(address === undefined || layer === undefined ? {} : { source: `${host(address)}:${port(layer[2])}` }),
    ...(layer === undefined ? {} : { transport: layer[1] === 'User Datagram' ? 'udp' : 'tcp' }),
  };
}

/** tcpdump -X or -XX, tshark -x: packets of hexadecimal bytes, each beginning at offset 0. */
function fromHex(file: string): Captured | undefined {
  let packet = '';
  const packets: string[] = [];
  for (const line of file.split('\n')) {
    const parts = /^\s*(?:0x)?([0-9a-f]{4}):? {2}((?:[0-9a-f]{2} ?){1,16})(?: |$)/i.exec(line);
    if (parts?.[1] === undefined) continue;
    if (parts[1] === '0000') packets.push((packet = ''));
    packet += Buffer.from((parts[2] ?? '').replaceAll(' ', ''), 'hex').toString('latin1');
    packets[packets.length - 1] = packet;
  }
  for (const bytes of packets) {
    const found = fromText(bytes);
    if (found !== undefined) return { ...found, ...sourceOfPacket(bytes) };
  }
  return undefined;
}

const ETHERNET_BYTES = 14;

/** Source and transport of an IPv4 or IPv6 packet, with an Ethernet header or without. */
function sourceOfPacket(bytes: string): Pick<Captured, 'source' | 'transport'> {
  const at = (index: number): number => bytes.charCodeAt(index);
  const word = (index: number): number => (at(index) << 8) | at(index + 1);
  const isIp = (index: number): boolean => at(index) >> 4 === 6 || (at(index) & 0xf0) === 0x40;
  const start = isIp(0) && at(0) !== 0x40 ? 0 : ETHERNET_BYTES;
  if (!isIp(start)) return {};
  const isV4 = at(start) >> 4 === 4;
  const address = isV4
    ? [12, 13, 14, 15].map((index) => at(start + index)).join('.')
    : `[${Array.from({ length: 8 }, (_, i) => word(start + 8 + 2 * i).toString(16)).join(':')}]`;
  const above = start + (isV4 ? (at(start) & 0x0f) * 4 : 40);
  const transport = at(start + (isV4 ? 9 : 6)) === 6 ? 'tcp' : 'udp';
  return { source: `${address}:${word(above)}`, transport };
}
