import type { Config } from '../config/types';
import type { HeaderLine, InboundRequest, SipLink } from '../link/sip-link';
import type { FlowTokens } from '../nat/flow-token';
import { isStream, type Flow } from '../nat/flow';
import type { CarryOrder } from '../relay/carrier';
import type { FailoverLimits, RelayTarget } from '../relay/relay';
import type { Destination, DispatchDecision, OutboundDecision, ToFlowDecision } from '../routing/decision';
import { flowOf, pathFor } from './flows';

export type CarriedDecision = DispatchDecision | OutboundDecision | ToFlowDecision;

export interface OrderParts {
  readonly config: Config;
  readonly tokens: FlowTokens;
  /** The link whose server has this entry address, for calls to a flow. */
  readonly linkOf: (entry: Flow['entry']) => SipLink | undefined;
}

export interface OrderFacts {
  readonly behindNat: boolean;
  /** What a hook adds to or takes out of the request. */
  readonly add: readonly HeaderLine[];
  readonly remove: readonly string[];
}

type OrderShape = Omit<CarryOrder, 'maySend' | 'onAnswer' | 'beforeAnswer'>;

/** A request that outgrows `mtu`. */
export interface Oversize {
  readonly bytes: number;
  readonly sentOver: 'tcp' | 'udp';
}

/** An order, and what about it should be noticed. */
export interface Ordered {
  readonly order: OrderShape;
  /** If it outgrows `mtu` on UDP: the bytes it will have, and what it is sent over first. */
  readonly oversize: Oversize | undefined;
}

/** Our Via; and our Record-Route with a token, where it is added. */
const VIA_BYTES = 110;
const RECORD_ROUTE_BYTES = 130;

/** Turns a decision into what a relay is told. */
export function orderFor(
  request: InboundRequest,
  decision: CarriedDecision,
  facts: OrderFacts,
  parts: OrderParts,
): Ordered {
  switch (decision.kind) {
    case 'dispatch':
      return toSite(request, decision, facts, parts);
    case 'outbound':
      return outwards(request, decision, facts, parts);
    case 'to_flow':
      return toEndpoint(request, decision, facts, parts);
  }
}

function toSite(
  request: InboundRequest,
  decision: DispatchDecision,
  facts: OrderFacts,
  { config, tokens }: OrderParts,
): Ordered {
  const { message, source } = request;
  const path = pathFor(request, tokens, config.nat.path, facts.behindNat);
  const isFar = facts.behindNat || isStream(source.transport);
  const site = config.systems[decision.system]?.sites[decision.plan[0]?.site ?? ''];
  const tellsFlow = isFar && site?.nat_dialogs === 'bypass';
  const add: HeaderLine[] = tellsFlow
    ? [...facts.add, [config.nat.header, flowUri(flowOf(request))]]
    : [...facts.add];
  const size =
    message.raw.length +
    VIA_BYTES +
    (decision.onPath ? RECORD_ROUTE_BYTES : 0) +
    (path === undefined ? 0 : path.length + 8) +
    add.reduce((sum, [name, value]) => sum + name.length + value.length + 4, 0);
  const isOver = size > config.mtu;
  const targets = decision.plan.map((one): RelayTarget =>
    isOver && mayUseTcp(one) ? target(one, `${one.uri};transport=tcp`) : target(one),
  );
  // RFC 3261 §18.1.1: where TCP is refused, UDP is tried after all, in fragments.
  const inFragments = isOver ? decision.plan.filter(mayUseTcp).map((one) => target(one)) : [];
  const [first] = targets;
  const isStreamFirst = first !== undefined && /;transport=(tcp|tls)/i.test(first.uri);
  return {
    order: {
      ...common(request, decision, config),
      requestUri: decision.requestUri,
      targets: [...targets, ...inFragments],
      headers: {
        remove: [...decision.strip, ...facts.remove],
        add,
        ...(path === undefined ? {} : { path }),
      },
      ...(decision.onPath && isFar ? { recordRouteUser: tokens.issue(flowOf(request)) } : {}),
    },
    oversize: isOver ? { bytes: size, sentOver: isStreamFirst ? 'tcp' : 'udp' } : undefined,
  };
}

const mayUseTcp = ({ uri, tcp }: Destination): boolean => tcp === true && !/;transport=/i.test(uri);

const target = ({ uri, system, site, node }: Destination, way = uri): RelayTarget => ({
  uri: way,
  system,
  site,
  node,
});

function outwards(
  request: InboundRequest,
  decision: OutboundDecision,
  facts: OrderFacts,
  { config }: OrderParts,
): Ordered {
  return {
    order: {
      ...common(request, decision, config),
      requestUri: decision.requestUri,
      targets: [{ uri: decision.nextHop }],
      headers: {
        remove: [...decision.strip, ...facts.remove],
        add: [...facts.add, ...routeLines(request, decision.routes)],
      },
    },
    oversize: undefined,
  };
}

function toEndpoint(
  request: InboundRequest,
  decision: ToFlowDecision,
  facts: OrderFacts,
  { config, tokens, linkOf }: OrderParts,
): Ordered {
  const read = tokens.read(decision.flow);
  if (read.kind !== 'ok') throw new TypeError('a flow was decided on that its token does not name');
  const { flow } = read;
  const link = linkOf(flow.entry);
  return {
    order: {
      ...common(request, decision, config),
      requestUri: decision.requestUri,
      targets: [{ uri: flowUri(flow) }],
      headers: {
        remove: [...decision.strip, ...facts.remove],
        add: [...facts.add, ...routeLines(request, decision.routes)],
      },
      entry: flow.entry,
      existingFlow: isStream(flow.transport),
      ...(link === undefined ? {} : { link }),
      ...(decision.onPath ? { recordRouteUser: decision.flow } : {}),
    },
    oversize: undefined,
  };
}

function common(
  request: InboundRequest,
  decision: CarriedDecision,
  config: Config,
): Pick<OrderShape, 'relay' | 'onPath' | 'limits' | 'entry' | 'distrusted'> {
  return {
    relay: decision.relay,
    onPath: decision.onPath,
    limits: limitsOf(request.message.method, decision.failover, config.failover),
    entry: request.receivedOn,
    ...(decision.distrusted === undefined ? {} : { distrusted: decision.distrusted }),
  };
}

/** INVITE never moves on before 2 s: timer A fires at 500 ms, and both sites would get the call (drachtio-server). */
const MIN_INVITE_TIMEOUT_MS = 2000;

/** What a silent site may still do, so that another one would do it again. */
const HAPPENS_ONCE = new Set(['MESSAGE', 'REFER']);

function limitsOf(method: string, failover: boolean, config: Config['failover']): FailoverLimits {
  return {
    timeoutMs: method === 'INVITE' ? Math.max(config.timeout_ms, MIN_INVITE_TIMEOUT_MS) : config.timeout_ms,
    maxAttempts: failover ? config.max_attempts : 1,
    totalMs: config.total_ms,
    onSilence: !HAPPENS_ONCE.has(method) || config.message_on_silence,
    statuses: config.codes,
  };
}

/** Routes behind ours stay on the request; only a server that sends headers as given can be told so. */
const routeLines = (request: InboundRequest, routes: readonly string[]): readonly HeaderLine[] =>
  routes.length > 0 && request.link.capabilities.exactHeaders ? [['Route', routes.join(', ')]] : [];

/** Where packets for a flow go. */
function flowUri({ remote, transport }: Flow): string {
  const host = remote.address.includes(':') ? `[${remote.address}]` : remote.address;
  return `sip:${host}:${remote.port};transport=${transport}`;
}
