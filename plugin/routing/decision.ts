import type { SipUri } from '../message/uri';
import type { DigestFact } from './digest';

/** Who is asking, by the packet's source address. */
export const ROLES = ['endpoint', 'peer', 'site'] as const;
export type Role = (typeof ROLES)[number];

export interface LookupKey {
  readonly kind: 'account' | 'did';
  readonly value: string;
}

/** The part of a registry's answer a decision needs. */
export interface RegistryAnswerView {
  readonly system: string;
  readonly account?: string;
  readonly site?: string;
  readonly customer?: string;
  readonly blocked?: boolean;
}

/** One destination of a plan. */
export interface Destination {
  readonly system: string;
  readonly site: string;
  /** The node's address as the configuration writes it; with system and site it names the node everywhere. */
  readonly node: string;
  /** A SIP URI without user, with port and transport where the configuration gives them. */
  readonly uri: string;
  /** The node also takes TCP: a request too large for a datagram is sent to it that way. */
  readonly tcp?: boolean;
}

/** The ordered list of destinations for one request: the chosen node first, then the failover order. */
export type Plan = readonly Destination[];

export const RELAY_KINDS = ['forward', 'proxy', 'b2bua'] as const;
export type RelayKind = (typeof RELAY_KINDS)[number];

/** How a request is to be carried. */
export interface RelayChoice {
  readonly relay: RelayKind;
  /** In-dialog requests come through us too: Record-Route in `proxy`, always so in `b2bua`. */
  readonly onPath: boolean;
  /** False: one attempt only, because a second one would break the dialog (100rel behind drachtio-server's proxy). */
  readonly failover: boolean;
  /** Long lower-case names of headers that the sender's role may not say: they do not travel on. */
  readonly strip: readonly string[];
}

/** Which side may not assert identities, for what follows the request: answers, and requests inside its dialog. */
export interface Belief {
  readonly distrusted?: 'caller' | 'callee';
}

/** One step of the way to a decision, in words an operator uses; `dsbc explain` prints them. */
export interface Step {
  readonly step: string;
  readonly because: string;
}

export type AnswerHeader = readonly [name: string, value: string];

export interface AnswerDecision {
  readonly kind: 'answer';
  readonly status: number;
  readonly reason?: string;
  /** Why, in words an operator uses: for the log. */
  readonly because: string;
  readonly headers?: readonly AnswerHeader[];
  /** The key that led here, for the log; absent if it never came to a look-up. */
  readonly key?: LookupKey | undefined;
  readonly system?: string;
  readonly steps: readonly Step[];
}

export interface DropDecision {
  readonly kind: 'drop';
  readonly because: string;
  readonly steps: readonly Step[];
}

/** To a system's site. */
export interface DispatchDecision extends RelayChoice, Belief {
  readonly kind: 'dispatch';
  readonly requestUri: string;
  readonly key?: LookupKey | undefined;
  /** What the registry said of the key; absent for the default system. */
  readonly answer?: RegistryAnswerView | undefined;
  /** What the site was chosen by: the account, or the Call-ID. */
  readonly affinityKey: string;
  readonly system: string;
  readonly plan: Plan;
  /** True if the plan starts at the node that challenged this request's first try. */
  readonly afterChallenge: boolean;
  readonly steps: readonly Step[];
}

/** Out to a vendor, an external SIP URI or a static PBX. */
export interface OutboundDecision extends RelayChoice, Belief {
  readonly kind: 'outbound';
  readonly requestUri: string;
  readonly nextHop: string;
  /** Route values that stay on the request, in order; ours is already gone. */
  readonly routes: readonly string[];
  /** The peer or outbound rule that allows it; its limits count per name. */
  readonly rule: string;
  readonly maxPerSecond?: number | undefined;
  readonly steps: readonly Step[];
}

/** To the endpoint a flow token names. */
export interface ToFlowDecision extends RelayChoice, Belief {
  readonly kind: 'to_flow';
  readonly requestUri: string;
  readonly flow: string;
  readonly routes: readonly string[];
  readonly steps: readonly Step[];
}

/** What is to happen to a request. */
export type Decision = AnswerDecision | DropDecision | DispatchDecision | OutboundDecision | ToFlowDecision;

/** Our flow token, found in the topmost Route and checked by the room that issues tokens. */
export interface FlowFact {
  readonly token: string;
  /** `forged`: the HMAC is wrong or the key unknown; `gone`: the stream it names is closed. */
  readonly state: 'valid' | 'forged' | 'gone';
  /** Where the endpoint is; only of a valid token. */
  readonly transport?: string;
  readonly address?: string;
  readonly port?: number;
  /** It was behind NAT when it registered; its Contact may say otherwise. */
  readonly behindNat?: boolean;
}

/** What the relay choice needs to know of the SIP server; a link's capabilities fit. */
export interface ServerAbilities {
  readonly failoverByStatus: boolean;
  readonly flowRecordRoute: boolean;
  readonly exactHeaders: boolean;
  readonly hostlessContactSafe: boolean;
  readonly removeHeaders: boolean;
  readonly proxiedRequestUri: boolean;
}

/** One Route value, read. */
export interface RouteFact {
  readonly text: string;
  /** Empty if the value is malformed. */
  readonly host: string;
  readonly port?: number | undefined;
  readonly user?: string | undefined;
  /** Where a request along it goes: scheme, host, port and transport; absent if the value is malformed. */
  readonly nextHop?: string;
}

/** The facts of one request that a decision is made from, all values. `readFacts` makes them. */
export interface RequestFacts {
  readonly method: string;
  readonly callId: string;
  /** The Request-URI as sent. */
  readonly targetText: string;
  readonly target: SipUri;
  readonly from: SipUri | undefined;
  readonly to: SipUri | undefined;
  /** The To has a tag: the request belongs to a dialog. */
  readonly inDialog: boolean;
  readonly credentials: readonly DigestFact[];
  readonly preferredIdentity: SipUri | undefined;
  /** The first Contact; its host is empty for `*`, `tel:` and what can't be read. */
  readonly contact: { readonly user: string | undefined; readonly host: string } | undefined;
  readonly routes: readonly RouteFact[];
  readonly vias: readonly { readonly host: string; readonly port?: number }[];
  readonly maxForwards: number | undefined;
  readonly maxBreadth: number | undefined;
  readonly proxyRequire: readonly string[];
  /** Identity headers it carries, by long lower-case name. */
  readonly identityHeaders: readonly string[];
  /** 100rel is supported or required: a PRACK will follow. */
  readonly reliableProvisionals: boolean;
  readonly source: { readonly transport: string; readonly address: string; readonly port: number };
  readonly receivedOn: { readonly address: string; readonly port: number };
  /** What the server the request came in on can do. */
  readonly server: ServerAbilities;
  /** The sender is behind NAT, by its Via, Contact and packet source. */
  readonly behindNat: boolean;
  readonly flow: FlowFact | undefined;
  /** The account registered over this very flow: it names a trunk that sends any From. Asked for only when needed. */
  readonly registeredAs: (() => string | undefined) | undefined;
}
