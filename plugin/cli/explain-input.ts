import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import { parseHostPort } from '../config/address';
import type { Config } from '../config/types';
import { types } from 'node:util';
import { readCapture, type Captured } from './capture';
import { UsageError } from './command';

/** What `dsbc explain` was told about a request. */
export interface ExplainWords {
  readonly method?: string | undefined;
  readonly source?: string | undefined;
  readonly transport?: string | undefined;
  readonly from?: string | undefined;
  readonly to?: string | undefined;
  readonly uri?: string | undefined;
  readonly 'call-id'?: string | undefined;
  readonly server?: string | undefined;
  readonly trace?: string | undefined;
}

/** A request and where it came from. */
export interface ExplainInput {
  /** SIP text with CRLF line ends. */
  readonly text: string;
  readonly source: { readonly transport: string; readonly address: string; readonly port: number };
  readonly server: Config['sip_servers'][number];
  /** What was taken to be so, because the command line does not say it. */
  readonly assumed?: string;
}

/** Makes the request that the command line describes, or reads the one in a file. */
export function explainInput(words: ExplainWords, config: Config): ExplainInput {
  const server = serverOf(words, config);
  const captured = words.trace === undefined ? undefined : captureIn(words.trace);
  const source = sourceOf(words, captured);
  const text = captured?.text ?? requestText(words, source, config.domains[0] ?? server.entry.address);
  const { from, to } = words;
  if (captured !== undefined || from !== undefined || to === undefined) return { text, source, server };
  return { text, source, server, assumed: `no --from: the caller is taken to be ${to}, too` };
}

function serverOf(words: ExplainWords, config: Config): ExplainInput['server'] {
  const name = words.server ?? config.sip_servers[0]?.name;
  const found = config.sip_servers.find((each) => each.name === name);
  if (found !== undefined) return found;
  throw new UsageError(`--server is one of ${config.sip_servers.map((each) => each.name).join(', ')}`);
}

function sourceOf(words: ExplainWords, captured: Captured | undefined): ExplainInput['source'] {
  const text = words.source ?? captured?.source;
  if (text === undefined) throw new UsageError('--source is missing: the address the packet comes from');
  const at = parseHostPort(text);
  if (at === undefined || isIP(at.host) === 0)
    throw new UsageError(`--source is an address, or address:port, not "${text}"`);
  const transport = (words.transport ?? captured?.transport ?? 'udp').toLowerCase();
  if (!['udp', 'tcp', 'tls', 'ws', 'wss'].includes(transport))
    throw new UsageError('--transport is one of udp, tcp, tls, ws, wss');
  return { transport, address: at.host, port: at.port ?? 5060 };
}

function requestText(words: ExplainWords, source: ExplainInput['source'], domain: string): string {
  const method = words.method?.toUpperCase();
  if (method === undefined) throw new UsageError('--method is missing, or --trace with a file');
  const isRegister = method === 'REGISTER';
  const from = uriOf(words.from ?? words.to, domain);
  const to = isRegister ? uriOf(words.from ?? words.to, domain) : uriOf(words.to, domain);
  if (from === undefined || to === undefined)
    throw new UsageError(isRegister ? '--from is missing: the account' : '--to is missing: who is called');
  const uri = words.uri ?? (isRegister ? `sip:${domain}` : to);
  const host = source.address.includes(':') ? `[${source.address}]` : source.address;
  const user = /^sips?:([^@]+)@/.exec(from)?.[1] ?? 'explain';
  return [
    `${method} ${uri} SIP/2.0`,
    `Via: SIP/2.0/${source.transport.toUpperCase()} ${host}:${source.port};branch=z9hG4bK-explain;rport`,
    'Max-Forwards: 70',
    `From: <${from}>;tag=explain`,
    `To: <${to}>`,
    `Call-ID: ${words['call-id'] ?? 'explain@dsbc'}`,
    `CSeq: 1 ${method}`,
    `Contact: <sip:${user}@${host}:${source.port}>`,
    'Content-Length: 0',
    '',
    '',
  ].join('\r\n');
}

/** `1001`, `1001@example.com`, or a URI of any scheme. */
function uriOf(text: string | undefined, domain: string): string | undefined {
  if (text === undefined) return undefined;
  if (/^[a-z]+:/i.test(text)) return text;
  return `sip:${text.includes('@') ? text : `${text}@${domain}`}`;
}

/** The request in the file of a capture. */
function captureIn(file: string): Captured {
  let whole: string;
  try {
    whole = readFileSync(file, 'latin1');
  } catch (error) {
    throw new UsageError(
      `${file} cannot be read: ${types.isNativeError(error) ? error.message : String(error)}`,
    );
  }
  const captured = readCapture(whole);
  if (captured === undefined) throw new UsageError(`${file} has no SIP request in it`);
  return captured;
}
