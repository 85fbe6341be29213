import type { SipMessage } from '../message/sip-message';

/** The transports a SIP packet can come by or leave on. */
export const TRANSPORTS = ['udp', 'tcp', 'tls', 'ws', 'wss'] as const;
export type Transport = (typeof TRANSPORTS)[number];

/** One end of a packet's way. IPv6 addresses are written without brackets. */
export interface TransportAddress {
  readonly transport: Transport;
  readonly address: string;
  readonly port: number;
}

/** What a SIP server can do beyond, or despite, drachtio-server's habits; the relays ask before they rely on it. */
export interface LinkCapabilities {
  /** `proxy` can fail over by status and keeps the rest of its targets for silence and 503 only. */
  readonly failoverByStatus: boolean;
  /** Record-Route may carry a user part of ours, and in-dialog requests along it go to that flow. */
  readonly flowRecordRoute: boolean;
  /** Headers reach the far side byte for byte, none rewritten, merged or reordered. */
  readonly exactHeaders: boolean;
  /** Contacts and Request-URIs without a host (`*`, `tel:`) do not harm the server. */
  readonly hostlessContactSafe: boolean;
  /** The server tells when a stream flow is closed. */
  readonly flowClosedEvents: boolean;
  /** An own client transaction can be abandoned: the server stops sending. */
  readonly cancelOwnTransactions: boolean;
  /** A request can be left without an answer and its retransmissions swallowed, at once. */
  readonly dropRequests: boolean;
  /** `proxy` can take headers of the request out (`removeHeaders`). */
  readonly removeHeaders: boolean;
  /** Which of the server's addresses a request leaves from can be chosen (`entry`). */
  readonly entrySelection: boolean;
  /** A request can be bound to a stream connection that is open now (`existingFlow`). */
  readonly existingFlow: boolean;
  /** `proxy` can be given the Request-URI that goes out (`requestUri`). */
  readonly proxiedRequestUri: boolean;
  /** A body with a NUL byte reaches the far side whole (drachtio-server cuts it there in own transactions). */
  readonly binaryBodies: boolean;
}

/** What drachtio-server 0.9.10 can do: none of these. */
export const DRACHTIO_CAPABILITIES: LinkCapabilities = Object.freeze({
  failoverByStatus: false,
  flowRecordRoute: false,
  exactHeaders: false,
  hostlessContactSafe: false,
  flowClosedEvents: false,
  cancelOwnTransactions: false,
  dropRequests: false,
  removeHeaders: false,
  entrySelection: false,
  existingFlow: false,
  proxiedRequestUri: false,
  binaryBodies: false,
});

/** A header to be sent: the name as it is to appear, and its value (latin1 text: one char per byte). */
export type HeaderLine = readonly [name: string, value: string];

/** An answer to an inbound request. The server adds Via, To tag, Call-ID, CSeq and From by itself. */
export interface ResponseSpec {
  readonly status: number;
  readonly reason?: string;
  readonly headers?: readonly HeaderLine[];
  /** Latin1 text, one char per byte. */
  readonly body?: string;
}

/** A request that a SIP server hands to the application. */
export interface InboundRequest {
  /** The server's transaction id; unique per server. */
  readonly id: string;
  readonly link: SipLink;
  /** Parsed from the raw bytes, never from drachtio-srf's own header table. */
  readonly message: SipMessage;
  /** Where the packet really came from. */
  readonly source: TransportAddress;
  /** The local address it came in on: the entry address, or an alias of it. */
  readonly receivedOn: { readonly address: string; readonly port: number };
  /** True once the caller's CANCEL was seen. */
  readonly cancelled: boolean;
  /** True once a final answer was given or the request was handed to `proxy`. */
  readonly settled: boolean;
  /** True once the server was seen to send a proxied INVITE on, so that it deals with its CANCEL; not every link sees it. */
  readonly relayed?: boolean;
  /** Calls back once when the caller cancels (at once if it already has). */
  onCancel(listener: () => void): void;
  /**
   * Hands the request to the next handler of the application it is shared with (middleware form only),
   * which then answers it.
   */
  readonly pass?: () => void;
}

/** An own client transaction (the relay `forward`). */
export interface ClientRequest extends FlowChoice {
  readonly method: string;
  readonly uri: string;
  readonly headers: readonly HeaderLine[];
  readonly body?: string;
  /** Where the packet goes, a SIP URI; by default where `uri` says. */
  readonly nextHop?: string;
  /** Milliseconds until the wait for a final answer ends. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
}

/** Ways to choose the local end of a request; each only where it is a capability, ignored elsewhere. */
export interface FlowChoice {
  /** The server's own address to leave from (`entrySelection`). */
  readonly entry?: { readonly address: string; readonly port: number };
  /** Only over a stream connection that is open now, else 430 at once (`existingFlow`). */
  readonly existingFlow?: boolean;
}

/** How an own client transaction ended. */
export type ClientOutcome =
  | {
      readonly kind: 'answer';
      readonly message: SipMessage;
      readonly status: number;
      readonly source: TransportAddress;
    }
  /** The server could not send it, or made an answer up by itself. */
  | { readonly kind: 'transport_error'; readonly status?: number; readonly reason: string }
  | { readonly kind: 'timeout' }
  | { readonly kind: 'aborted' }
  | { readonly kind: 'link_lost' };

export interface ProxyTarget {
  /** The SIP URI the request is sent to; carries the user, so that a Request-URI naming the server can become it. */
  readonly uri: string;
}

export interface ProxyOptions extends FlowChoice {
  readonly targets: readonly ProxyTarget[];
  readonly recordRoute: boolean;
  /** A user part for our Record-Route; only where `flowRecordRoute` is a capability. */
  readonly recordRouteUser?: string;
  /**
   * Headers added by the server's rules: one that may occur once is replaced, a list header is appended;
   * Via, Route, Record-Route and RSeq are dropped by drachtio-server.
   */
  readonly headers?: readonly HeaderLine[];
  /** Names of headers to take out first (`removeHeaders`). */
  readonly removeHeaders?: readonly string[];
  /** The Request-URI that goes out; only where `proxiedRequestUri` is a capability. */
  readonly requestUri?: string;
  /** The statuses that try the next target, time-outs as 408 and transport failures as 503 (`failoverByStatus`). */
  readonly failoverStatuses?: readonly number[];
  /** Milliseconds without any answer until the next target (INVITE only). */
  readonly provisionalTimeoutMs?: number;
  /** Milliseconds without a final answer until the next target. */
  readonly finalTimeoutMs?: number;
  /** Called for each answer a target gave, as it comes. */
  readonly onAnswer?: (answer: TargetAnswer) => void;
  /** Milliseconds until the promise settles whatever happens. */
  readonly deadlineMs: number;
}

/** A final answer of a proxied request's target. */
export interface TargetAnswer {
  readonly status: number;
  readonly message: SipMessage;
  /** Without an address when the server made the answer up by itself. */
  readonly source: TransportAddress;
  /** The target it is about, where the server tells it. */
  readonly target?: string;
}

export type ProxyOutcome =
  | {
      readonly kind: 'done';
      readonly finalStatus: number | undefined;
      readonly answers: readonly TargetAnswer[];
    }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'deadline'; readonly answers: readonly TargetAnswer[] }
  | { readonly kind: 'link_lost' };

/** What is under way on a link; all three return to zero when nothing is. */
export interface LinkLoad {
  /** Commands the server has not answered yet. */
  readonly commands: number;
  readonly clientTransactions: number;
  /** Requests of the network that are neither answered nor dropped, proxied ones included. */
  readonly inboundRequests: number;
}

export type LinkState = 'connecting' | 'connected' | 'lost' | 'closed';

/**
 * One guarded connection to one SIP server. Every promise it gives settles. `request`, `proxy` and `respond`
 * reject with DSBC_HEADER_UNSAFE when a header or URI could smuggle another header; `respond` also with
 * DSBC_LINK_REFUSED, DSBC_LINK_TIMEOUT or DSBC_LINK_LOST.
 */
export interface SipLink {
  /** The name of the SIP server in the configuration. */
  readonly name: string;
  readonly state: LinkState;
  readonly capabilities: LinkCapabilities;
  /** What the server says it listens on, learnt at connection. */
  readonly addresses: readonly TransportAddress[];
  /** The addresses of the machine itself that it listens on; others than `addresses` where it has an external one. */
  readonly bound: readonly TransportAddress[];
  /** `host:port` of the control port; absent until the application that shares its connection has called `srf.connect`. */
  readonly control: string | undefined;
  /** Why it is not connected, as far as it is known: what came of the last attempt, or ended the connection. */
  readonly trouble: string | undefined;
  readonly load: LinkLoad;
  request(request: ClientRequest): Promise<ClientOutcome>;
  proxy(request: InboundRequest, options: ProxyOptions): Promise<ProxyOutcome>;
  respond(request: InboundRequest, response: ResponseSpec): Promise<void>;
  /**
   * Leaves the request without an answer and forgets it.
   * @param retransmissions what becomes of them: swallowed (default), or taken as new requests, for when this instance may
   *   serve again before the sender gives up. Only where `dropRequests` is a capability; drachtio-server swallows.
   */
  drop(request: InboundRequest, retransmissions?: 'swallow' | 'take'): void;
  /** At most one handler; what it throws is logged and answered 500. */
  onRequest(handler: (request: InboundRequest) => void | Promise<void>): void;
  onState(listener: (state: LinkState) => void): void;
  /** Tells each stream flow that is closed (`flowClosedEvents`); elsewhere nothing is ever told. */
  onFlowClosed(listener: (flow: TransportAddress) => void): void;
  /** Stops reconnecting, settles what is pending. Idempotent. */
  close(): Promise<void>;
}
