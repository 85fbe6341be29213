import { randomUUID } from 'node:crypto';
import { param, parseNameAddr } from '../../message/name-addr';
import type { Header } from '../../message/sip-message';
import type { CommandMessage } from '../control/command';
import { hostPort, type Flow } from '../transport/flow';
import { newTag } from '../wire/text';
import { missingLines } from './answer-command';

/** The server's own in every request. */
const OWN = new Set(['record-route', 'rseq', 'content-length']);

/** What opens a dialog, and so needs a Contact. */
export const opensDialog = (method: string): boolean => method === 'INVITE' || method === 'SUBSCRIBE';

/** The header lines as given, and what a request can't do without (RFC 3261 §8.1.1). */
export function completeHeaders(
  given: CommandMessage,
  line: { readonly method: string; readonly uri: string },
  flow: Flow,
): Header[] {
  // A Via under its long name is ours to write; under the compact one it is a lower hop's, kept below ours.
  const kept = given.lines.filter(({ key, name }) => !OWN.has(key) && (key !== 'via' || name.length === 1));
  const { entry } = flow;
  const ownUri = `<sip:${hostPort(entry.address, entry.port)}${flow.transport === 'tcp' ? ';transport=tcp' : ''}>`;
  const headers = kept.map((header) => (header.key === 'from' ? withTag(header) : header));
  const add = (name: string, key: string, value: string): void => {
    if (!headers.some((header) => header.key === key)) headers.push({ name, key, value });
  };
  add('Max-Forwards', 'max-forwards', '70');
  add('From', 'from', `${ownUri};tag=${newTag()}`);
  add('To', 'to', `<${line.uri}>`);
  add('Call-ID', 'call-id', randomUUID());
  const cseq = headers.findIndex(({ key }) => key === 'cseq');
  if (cseq >= 0 && !/^\d+[ \t]+\S+$/.test(headers[cseq]?.value ?? '')) headers.splice(cseq, 1);
  add('CSeq', 'cseq', `1 ${line.method}`);
  return [...headers, ...missingLines(given, opensDialog(line.method) ? ownUri : undefined)];
}

function withTag(from: Header): Header {
  const address = parseNameAddr(from.value);
  if (!address || param(address.params, 'tag') !== undefined) return from;
  const text = from.value.includes('<') ? from.value : `<${address.uri}>`;
  return { ...from, value: `${text};tag=${newTag()}` };
}
