import type { ClientOutcome, SipLink } from '../link/sip-link';
import type { PingTarget } from '../nat/keepalive';
import { isStream } from '../nat/flow';
import type { NameFaults } from './name-faults';
import type { Presence } from '../relay/node-check';
import type { ProbeTarget } from '../routing/health';
import type { Sighting } from '../routing/node-health';

/** OPTIONS of our own: probes of nodes, pings of endpoints. */
export interface OwnRequestsParts {
  readonly link: (server: string) => SipLink | undefined;
  readonly linkOf: (entry: { readonly address: string; readonly port: number }) => SipLink | undefined;
  readonly now: () => number;
  /** A new tag or Call-ID. */
  readonly newId: () => string;
  readonly names: NameFaults;
}

/** Asks a node whether it is there. */
export async function probe(
  parts: OwnRequestsParts,
  { server, destination }: ProbeTarget,
  timeoutMs: number,
): Promise<Sighting> {
  const link = parts.link(server);
  if (link?.state !== 'connected') throw new Error('the SIP server is not connected');
  const start = parts.now();
  const outcome = await link.request({
    method: 'OPTIONS',
    uri: destination.uri,
    headers: headersOf(link, destination.uri, parts.newId()),
    nextHop: destination.uri,
    timeoutMs,
  });
  const sighting = sightingOf(outcome, parts.now() - start);
  if (outcome.kind !== 'transport_error') return sighting;
  const left = Math.max(0, timeoutMs - (parts.now() - start));
  const reason = await parts.names.of(destination.uri, left);
  return reason === undefined ? sighting : { kind: 'transport_error', reason };
}

/** Whether a node refuses what this server sends it. */
export async function presence(
  parts: OwnRequestsParts,
  server: string,
  uri: string,
  timeoutMs: number,
): Promise<Presence> {
  const link = parts.link(server);
  if (link?.state !== 'connected') return 'silent';
  const headers = headersOf(link, uri, parts.newId());
  const outcome = await link.request({ method: 'OPTIONS', uri, headers, nextHop: uri, timeoutMs });
  if (outcome.kind === 'transport_error') return 'refused';
  return outcome.kind === 'answer' ? 'there' : 'silent';
}

/** Keeps a way through somebody's NAT open; true if anything came back. */
export async function ping(
  parts: OwnRequestsParts,
  { flow, contact }: PingTarget,
  timeoutMs: number,
): Promise<boolean> {
  const link = parts.linkOf(flow.entry);
  if (link?.state !== 'connected') return false;
  const { remote, transport } = flow;
  const host = remote.address.includes(':') ? `[${remote.address}]` : remote.address;
  const outcome = await link.request({
    method: 'OPTIONS',
    uri: contact,
    headers: headersOf(link, contact, parts.newId()),
    nextHop: `sip:${host}:${remote.port};transport=${transport}`,
    entry: flow.entry,
    existingFlow: isStream(transport),
    timeoutMs,
  });
  return outcome.kind === 'answer';
}

function headersOf(link: SipLink, to: string, id: string): readonly (readonly [string, string])[] {
  const entry = link.addresses[0];
  const host =
    entry === undefined ? 'localhost' : entry.address.includes(':') ? `[${entry.address}]` : entry.address;
  const self = entry === undefined ? `sip:${host}` : `sip:${host}:${entry.port}`;
  return [
    ['Max-Forwards', '70'],
    ['From', `<${self}>;tag=${id}`],
    ['To', `<${to}>`],
    ['Call-ID', `${id}@${host}`],
    ['CSeq', '1 OPTIONS'],
    ['Contact', `<${self}>`],
    ['User-Agent', 'drachtio-dsbc'],
  ];
}

function sightingOf(outcome: ClientOutcome, milliseconds: number): Sighting {
  switch (outcome.kind) {
    case 'answer':
      return { kind: 'answer', status: outcome.status, milliseconds };
    case 'timeout':
    case 'aborted':
      return { kind: 'silence' };
    case 'transport_error':
      return { kind: 'transport_error', reason: outcome.reason };
    case 'link_lost':
      return { kind: 'transport_error', reason: 'the link to the SIP server was lost' };
  }
}
