import { param } from '../../message/name-addr';
import { parseUri } from '../../message/uri';
import { plainAddress, type EntryAddress, type Flow } from '../transport/flow';
import type { Header, SipMessage } from '../../message/sip-message';
import type { Application } from '../control/application';
import { isGivenHeader } from '../proxy/header-policy';

/** The tag of one side of a message. */
export function tagOf(message: SipMessage, side: 'from' | 'to'): string | undefined {
  const address = message[side];
  const tag = address && param(address.params, 'tag');
  return typeof tag === 'string' && tag !== '' ? tag : undefined;
}

/** The server's own in every request inside a dialog: what the application writes there is not taken. */
const OWN = new Set(['from', 'to', 'call-id', 'cseq']);

/** Requests that may carry, and then refresh, the remote target (RFC 3261 §12.2, RFC 3311 §5.1, RFC 6665 §4.4.1). */
const REFRESHES = new Set(['INVITE', 'UPDATE', 'SUBSCRIBE', 'NOTIFY', 'REFER']);

/** Requests of ours that need a Contact. */
const WITH_CONTACT = REFRESHES;

const UNSPECIFIC = new Set(['ACK', 'CANCEL']);

export interface DialogStart {
  readonly id: string;
  readonly callId: string;
  readonly isSubscription: boolean;
  readonly localTag: string;
  /** Our side as the value of a From. */
  readonly localAddress: string;
  /** The other side as the value of a To, with its tag once known. */
  readonly remoteAddress: string;
  readonly remoteTag: string | undefined;
  /** Sequence number of our latest request; 0 if we have sent none. */
  readonly localSequence: number;
  readonly remoteSequence: number;
  readonly localContact: string;
  readonly application: Application;
  readonly entry: EntryAddress;
}

/** A dialog that an application has with the network (RFC 3261 §12). */
export class Dialog {
  readonly id: string;
  readonly callId: string;
  readonly isSubscription: boolean;
  readonly localTag: string;
  readonly application: Application;
  readonly entry: EntryAddress;
  /** A final 2xx was seen or sent. */
  confirmed = false;
  /** CSeq number of our latest INVITE; its 2xx is acknowledged with it. */
  inviteSequence: number;
  localContact: string;
  readonly #localAddress: string;
  #remoteAddress: string;
  #remoteTag: string | undefined;
  #remoteTarget = '';
  #routes: readonly string[] = [];
  #flow: Flow | undefined;
  #localSequence: number;
  #remoteSequence: number;

  constructor(start: DialogStart) {
    this.id = start.id;
    this.callId = start.callId;
    this.isSubscription = start.isSubscription;
    this.localTag = start.localTag;
    this.application = start.application;
    this.entry = start.entry;
    this.localContact = start.localContact;
    this.inviteSequence = start.localSequence;
    this.#localAddress = start.localAddress;
    this.#remoteAddress = start.remoteAddress;
    this.#remoteTag = start.remoteTag;
    this.#localSequence = start.localSequence;
    this.#remoteSequence = start.remoteSequence;
  }

  get remoteTag(): string | undefined {
    return this.#remoteTag;
  }

  get remoteTarget(): string {
    return this.#remoteTarget;
  }

  /** The first Route of our requests, if there is a route set. */
  get firstRoute(): string | undefined {
    return this.#routes[0];
  }

  /** Where requests go when neither the route set nor the Contact leads to the other side: the packet's source. */
  get flow(): Flow | undefined {
    return this.#routes.length === 0 ? this.#flow : undefined;
  }

  /** Learns the other side from the request that opened the dialog. */
  learnFromRequest(request: SipMessage, flow: Flow): void {
    this.#routes = request.list('record-route');
    this.#learnTarget(request, flow);
  }

  /** Learns it from an answer: the latest one wins until the dialog is confirmed. */
  learnFromAnswer(answer: SipMessage, flow: Flow): void {
    if (this.confirmed) return;
    this.#remoteTag = tagOf(answer, 'to');
    this.#remoteAddress = answer.get('to') ?? this.#remoteAddress;
    this.#routes = [...answer.list('record-route')].reverse();
    this.#learnTarget(answer, flow);
  }

  /** A NOTIFY may tell who the other side is before the SUBSCRIBE is answered (RFC 6665 §4.1.2.4). */
  learnFromNotify(notify: SipMessage, flow: Flow): void {
    this.#remoteTag = tagOf(notify, 'from');
    this.#remoteAddress = notify.get('from') ?? this.#remoteAddress;
    this.learnFromRequest(notify, flow);
    this.confirmed = true;
  }

  /**
   * Takes a request of the other side in. False when it is older than the last one (RFC 3261 §12.2.2: 500).
   */
  accept(request: SipMessage, flow: Flow): boolean {
    const number = request.cseq?.number ?? 0;
    if (!UNSPECIFIC.has(request.method)) {
      if (number <= this.#remoteSequence) return false;
      this.#remoteSequence = number;
    }
    if (REFRESHES.has(request.method)) this.refresh(request, flow);
    return true;
  }

  /** Target refresh, by a request of theirs or a 2xx to one of ours. */
  refresh(message: SipMessage, flow: Flow): void {
    if (message.contacts.length > 0) this.#learnTarget(message, flow);
  }

  /** The header lines of a request of ours, and its Request-URI. */
  request(
    method: string,
    given: readonly Header[],
    sequence = this.#nextSequence(method),
  ): { readonly uri: string; readonly headers: Header[] } {
    const line = (name: string, value: string): Header => ({ name, key: name.toLowerCase(), value });
    const lines = given.filter(({ key }) => isGivenHeader(key) && !OWN.has(key));
    const headers = [
      ...this.#routes.map((route) => line('Route', route)),
      line('From', this.#localAddress),
      line('To', this.#remoteAddress),
      line('Call-ID', this.callId),
      line('CSeq', `${sequence} ${method}`),
      ...lines,
    ];
    const has = (key: string): boolean => headers.some((header) => header.key === key);
    if (!has('max-forwards')) headers.push(line('Max-Forwards', '70'));
    if (WITH_CONTACT.has(method) && !has('contact')) headers.push(line('Contact', this.localContact));
    return { uri: this.#remoteTarget, headers };
  }

  #nextSequence(method: string): number {
    this.#localSequence += 1;
    if (method === 'INVITE') this.inviteSequence = this.#localSequence;
    return this.#localSequence;
  }

  #learnTarget(message: SipMessage, flow: Flow): void {
    const [contact] = message.contacts;
    const uri = contact && parseUri(contact.uri);
    const hasHost = uri !== undefined && uri.host !== '';
    if (contact && hasHost) this.#remoteTarget = contact.uri;
    else if (this.#remoteTarget === '') this.#remoteTarget = contact?.uri ?? '';
    // Behind NAT the Contact leads nowhere; over a stream nobody need listen where it says.
    const elsewhere = !hasHost || plainAddress(uri.host) !== plainAddress(flow.address);
    this.#flow = elsewhere || flow.transport === 'tcp' ? flow : undefined;
  }
}
