import type { Config } from '../config/types';
import type { InboundRequest, TransportAddress } from '../link/sip-link';
import { parseNameAddr } from '../message/name-addr';
import { parseUri } from '../message/uri';
import type { BindingTable } from '../nat/bindings';
import type { Flow } from '../nat/flow';
import type { FlowTokens } from '../nat/flow-token';
import { learn } from '../nat/learn';
import { pathValue, takesPath, wantsOutbound } from '../nat/path';
import type { RelayedAnswer } from '../relay/relay';
import type { FlowFact } from '../routing/decision';

/** The flow a request came by: what a token of ours will name. */
export const flowOf = ({ source, receivedOn }: InboundRequest): Flow => ({
  entry: { address: receivedOn.address, port: receivedOn.port },
  transport: source.transport,
  remote: { address: source.address, port: source.port },
});

/**
 * The token of our Path in the Route, checked; undefined if there is none. Above it may stand Routes that name us alone: of a
 * site that has us for its outbound proxy, and puts the Path of the registration behind that.
 */
export function flowFact(
  request: InboundRequest,
  tokens: FlowTokens,
  isOurs: (host: string, port?: number) => boolean,
): FlowFact | undefined {
  for (const route of request.message.list('route')) {
    const uri = parseUri(parseNameAddr(route)?.uri ?? '');
    if (uri === undefined || !isOurs(uri.host, uri.port)) return undefined;
    if (uri.user !== undefined) return factOf(uri.user, tokens);
  }
  return undefined;
}

function factOf(token: string, tokens: FlowTokens): FlowFact {
  const read = tokens.read(token);
  if (read.kind !== 'ok') return { token, state: 'forged' };
  const { flow, behindNat } = read;
  const { transport, remote } = flow;
  const { address, port } = remote;
  return { token, state: 'valid', transport, address, port, behindNat };
}

/** Where sites send to reach this entry: its port for UDP, or for TCP if it has none. */
function siteSide(request: InboundRequest): { readonly port: number; readonly transport: 'udp' | 'tcp' } {
  const here = (transport: 'udp' | 'tcp'): TransportAddress | undefined =>
    request.link.addresses.find(
      (one) => one.transport === transport && one.address === request.receivedOn.address,
    );
  const udp = here('udp');
  if (udp !== undefined) return { port: udp.port, transport: 'udp' };
  return { port: here('tcp')?.port ?? request.receivedOn.port, transport: 'tcp' };
}

/** Our Path for a REGISTER, if it is to get one (RFC 3327, RFC 5626 §5.1). */
export function pathFor(
  request: InboundRequest,
  tokens: FlowTokens,
  mode: Config['nat']['path'],
  behindNat: boolean,
): string | undefined {
  const { message } = request;
  if (message.method !== 'REGISTER' || !takesPath(message, mode)) return undefined;
  const { port, transport } = siteSide(request);
  return pathValue({
    token: tokens.issue(flowOf(request), behindNat),
    entry: { address: request.receivedOn.address, port },
    transport,
    outbound: wantsOutbound(message),
  });
}

/** Notes what a registration changed, so that endpoints behind NAT are kept reachable. */
export function learnBinding(
  request: InboundRequest,
  answer: RelayedAnswer,
  bindings: BindingTable,
  behindNat: boolean,
): void {
  if (request.message.method !== 'REGISTER' || answer.message === undefined) return;
  const learnt = learn(request.message, answer.message);
  if (learnt === undefined) return;
  bindings.take(learnt, flowOf(request), behindNat && request.source.transport === 'udp');
}
