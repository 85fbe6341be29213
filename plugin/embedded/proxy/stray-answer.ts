import { isIP, isIPv6 } from 'node:net';
import { param } from '../../message/name-addr';
import type { BranchSeal } from './branch-seal';
import type { Self } from '../core/self';
import type { EntryAddress, Flow, Sent, TransportName } from '../transport/flow';
import { plainAddress } from '../transport/flow';
import { isSingleHost } from '../wire/address-guard';
import type { Inbound } from '../wire/inbound';
import { responseText } from '../wire/text';
import { CONNECTION_PARAMETER, withoutTopVia } from './via-lines';

const DEFAULT_PORT = 5060;

/**
 * Forwards an answer that belongs to no transaction by its second Via (RFC 3261 §16.7, §16.11): the answer to a request
 * forwarded without state, one that comes late, or one whose transaction died with another process. Only if the top Via
 * is ours and sealed, and never to an address that means many hosts. False when it was dropped.
 */
export function forwardStrayAnswer(
  inbound: Inbound,
  environment: {
    readonly self: Self;
    readonly branches: BranchSeal;
    readonly entryFor: (transport: TransportName, address: string) => EntryAddress | undefined;
    readonly send: (flow: Flow, text: string, sent?: Sent) => void;
  },
): boolean {
  const { message } = inbound;
  const [top, next] = message.vias;
  if (!top || !next || !environment.self.isOwn(top.host, top.port)) return false;
  if (!environment.branches.fits(message)) return false;
  const lines = withoutTopVia(message);
  const address = plainAddress(next.received ?? next.host);
  const transport = next.transport.toLowerCase();
  if (!lines || isIP(address) === 0 || !isSingleHost(address)) return false;
  if (transport !== 'udp' && transport !== 'tcp') return false;
  const entry = entryOf(inbound, transport, address) ?? environment.entryFor(transport, address);
  if (!entry) return false;
  const port = typeof next.rport === 'number' ? next.rport : (next.port ?? DEFAULT_PORT);
  const connection = Number(param(top.params, CONNECTION_PARAMETER));
  const flow: Flow =
    transport === 'udp'
      ? { transport, entry, address, port }
      : {
          transport,
          entry,
          address,
          port,
          existingOnly: true,
          ...(Number.isInteger(connection) ? { connection } : {}),
        };
  environment.send(flow, responseText(message.status, message.reason, lines, message.body));
  return true;
}

/** The entry address the answer came in on, if it can reach the next hop. */
function entryOf(inbound: Inbound, transport: TransportName, address: string): EntryAddress | undefined {
  const { entry } = inbound.flow;
  const fits = entry.transports.includes(transport) && isIPv6(entry.address) === isIPv6(address);
  return fits ? entry : undefined;
}
