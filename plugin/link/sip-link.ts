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
}

/** What drachtio-server 0.9.10 can do: none of these. */
export const DRACHTIO_CAPABILITIES: LinkCapabilities = Object.freeze({
  failoverByStatus: false,
  flowRecordRoute: false,
  exactHeaders: false,
  hostlessContactSafe: false,
  flowClosedEvents: false,
  cancelOwnTransactions: false,
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
  /** Calls back once when the caller cancels (at once if it already has). */
  onCancel(listener: () => void): void;
}

/** An own client transaction (the relay `forward`). */
export interface ClientRequest {
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

export interface ProxyOptions {
  readonly targets: readonly ProxyTarget[];
  readonly recordRoute: boolean;
  /** A user part for our Record-Route; only where `flowRecordRoute` is a capability. */
  readonly recordRouteUser?: string;
  /** Headers added by the server's rules (drachtio.md, `proxy`). */
  readonly headers?: readonly HeaderLine[];
  /** Milliseconds without any answer until the next target (INVITE only). */
  readonly provisionalTimeoutMs?: number;
  /** Milliseconds without a final answer until the next target. */
  readonly finalTimeoutMs?: number;
  /** Called for each answer a target gave, as it comes. */
  readonly onAnswer?: (answer: {
    readonly status: number;
    readonly message: SipMessage;
    readonly source: TransportAddress;
  }) => void;
  /** Milliseconds until the promise settles whatever happens. */
  readonly deadlineMs: number;
}

export type ProxyOutcome =
  | {
      readonly kind: 'done';
      readonly finalStatus: number | undefined;
      readonly answers: readonly { status: number; message: SipMessage; source: TransportAddress }[];
    }
  | { readonly kind: 'refused'; readonly reason: string }
  | { readonly kind: 'cancelled' }
  | { readonly kind: 'deadline' }
  | { readonly kind: 'link_lost' };

export type LinkState = 'connecting' | 'connected' | 'lost' | 'closed';

/** One guarded connection to one SIP server. Every promise it gives settles. */
export interface SipLink {
  /** The name of the SIP server in the configuration. */
  readonly name: string;
  readonly state: LinkState;
  readonly capabilities: LinkCapabilities;
  /** What the server says it listens on, learnt at connection. */
  readonly addresses: readonly TransportAddress[];
  request(request: ClientRequest): Promise<ClientOutcome>;
  proxy(request: InboundRequest, options: ProxyOptions): Promise<ProxyOutcome>;
  respond(request: InboundRequest, response: ResponseSpec): Promise<void>;
  /** Leaves the request without an answer and forgets it. */
  drop(request: InboundRequest): void;
  /** At most one handler; what it throws is logged and answered 500. */
  onRequest(handler: (request: InboundRequest) => void | Promise<void>): void;
  onState(listener: (state: LinkState) => void): void;
  /** Stops reconnecting, settles what is pending. Idempotent. */
  close(): Promise<void>;
}
