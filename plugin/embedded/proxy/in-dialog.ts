import { IDENTITY_HEADERS } from '../../message/identity-headers';
import { param, parseNameAddr } from '../../message/name-addr';
import type { SipMessage } from '../../message/sip-message';
import { parseUri, uriParam, type SipUri } from '../../message/uri';
import type { Self } from '../core/self';
import type { Flow, Sent } from '../transport/flow';
import { isSingleHost } from '../wire/address-guard';
import type { Inbound } from '../wire/inbound';
import { requestText } from '../wire/text';
import type { BranchSeal } from './branch-seal';
import { SEAL_PARAMETER, type DialogSeal, type Unsealed } from './dialog-seal';
import { withOneHopLess, withoutRoutes } from './forwarding';
import { ownVia } from './via-lines';

const IDENTITY: ReadonlySet<string> = new Set(IDENTITY_HEADERS);

/** Turns the user part of a Record-Route of ours back into a flow; undefined when it is not one of ours. */
export type FlowOfToken = (user: string) => Flow | undefined;

export interface InDialogEnvironment {
  readonly self: Self;
  readonly seal: DialogSeal;
  readonly branches: BranchSeal;
  readonly flowOfToken: FlowOfToken;
  /** Where a URI is, seen from the entry address a request came in on. */
  readonly flowTo: (uri: SipUri, from: Flow) => Flow | undefined | Promise<Flow | undefined>;
  readonly send: (flow: Flow, text: string, sent?: Sent) => void;
  /** Answers without state; an ACK gets none. */
  readonly refuse: (inbound: Inbound, status: number, reason?: string) => void;
}

const hasTag = (message: SipMessage): boolean =>
  message.to !== undefined && param(message.to.params, 'tag') !== undefined;

/** Whether a request belongs to a dialog and its topmost Route names this server. */
export function isAlongOurRoute(message: SipMessage, self: Self): boolean {
  if (!hasTag(message)) return false;
  const [first] = message.list('route');
  const uri = first === undefined ? undefined : parseNameAddr(first)?.uri;
  return uri !== undefined && self.namesUs(uri);
}

/**
 * Forwards requests inside dialogs along our Record-Route, without state: towards the flow its token names, or, for
 * what the owner of that flow sends, along the rest of the Route. The tags say who sent it, not the source address: a
 * phone's NAT may have given it another one meanwhile. Only when the seal says that we put that Route into this very
 * dialog; so the server relays for dialogs the application let through and for nobody else.
 */
export class InDialogForwarder {
  readonly #environment: InDialogEnvironment;

  constructor(environment: InDialogEnvironment) {
    this.#environment = environment;
  }

  forward(inbound: Inbound): void {
    const { message } = inbound;
    const { refuse, self, seal, flowOfToken } = this.#environment;
    const marks: { readonly seal: Unsealed | undefined; readonly user: string | undefined }[] = [];
    const headers = withoutRoutes(message.headers, (text) => {
      const uri = parseUri(text);
      if (!uri || !self.isOwnUri(uri)) return false;
      const mark = uriParam(uri, SEAL_PARAMETER);
      marks.push({ seal: typeof mark === 'string' ? seal.open(mark, message) : undefined, user: uri.user });
      return true;
    });
    if (marks.some((mark) => mark.seal === undefined)) {
      refuse(inbound, 481);
      return;
    }
    const flows = marks.flatMap(({ seal: mark, user }) =>
      user === undefined
        ? []
        : [{ flow: flowOfToken(user), away: mark?.tokenOf === undefined || mark.tokenOf === mark.sender }],
    );
    if (flows.some(({ flow }) => flow === undefined)) {
      refuse(inbound, 403, 'Invalid flow token');
      return;
    }
    const towards = flows.find(({ away }) => !away)?.flow;
    // Who a token is for is an endpoint, and no endpoint may say who it is (RFC 3325 §5).
    const isEndpoint = marks.some(
      ({ user, seal: mark }) => user !== undefined && mark?.tokenOf === mark?.sender,
    );
    const kept = isEndpoint ? headers.filter(({ key }) => !IDENTITY.has(key)) : headers;
    const lines = withOneHopLess(kept, message.maxForwards);
    if (towards) this.#send(inbound, lines, { ...towards, existingOnly: true });
    else this.#routeOn(inbound, lines);
  }

  /** To the next Route, or the Request-URI (RFC 3261 §16.6 item 7). */
  #routeOn(inbound: Inbound, headers: SipMessage['headers']): void {
    const { refuse, self, flowTo } = this.#environment;
    const next = headers.find(({ key }) => key === 'route');
    const uri = parseUri((next && parseNameAddr(next.value)?.uri) ?? inbound.message.uri);
    if (!uri || uri.host === '' || self.isOwnUri(uri)) {
      refuse(inbound, 481);
      return;
    }
    const found = flowTo(uri, inbound.flow);
    const go = (flow: Flow | undefined): void => {
      if (flow && isSingleHost(flow.address)) this.#send(inbound, headers, flow);
      else refuse(inbound, 503);
    };
    if (found instanceof Promise) void found.then(go);
    else go(found);
  }

  #send(inbound: Inbound, headers: SipMessage['headers'], flow: Flow): void {
    const { message } = inbound;
    const via = ownVia(flow, this.#environment.branches.stateless(message), inbound.flow.connection);
    const lines = [{ name: 'Via', value: via }, ...headers];
    this.#environment.send(flow, requestText(message.method, message.uri, lines, message.body), (error) => {
      if (error) this.#environment.refuse(inbound, error.failure === 'flow_failed' ? 430 : 503);
    });
  }
}
