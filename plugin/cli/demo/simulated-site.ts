import { buildRequest, buildResponse } from '../../message/build';
import { parseNameAddr } from '../../message/name-addr';
import { parseUri } from '../../message/uri';
import type { SipMessage } from '../../message/sip-message';
import { digestParam, digestResponse } from './digest';
import { nextHop, routeSet, tagOf, token, UdpParty, type Remote } from './udp-party';

/** What the demo's accounts log in with: the password of account N is `secret-N`. */
export const passwordOf = (account: string): string => `secret-${account}`;

export interface Registration {
  readonly contact: string;
  readonly path: readonly string[];
}

/** One request a site was asked; `order` is the same clock for all sites. */
export interface Seen {
  readonly order: number;
  readonly method: string;
  /** Whom it was for: the To user of a REGISTER, else the Request-URI user. */
  readonly user: string;
  readonly from: string;
}

let order = 0;

type Header = readonly [string, string];

/**
 * One site of a platform, simulated: a registrar that challenges, and a call server that answers calls,
 * subscriptions and messages by itself and can call a phone that registered with it.
 */
export class SimulatedSite extends UdpParty {
  readonly counts: Record<string, number> = {};
  readonly registrations = new Map<string, Registration>();
  /** What this site was asked, newest last. */
  readonly seen: Seen[] = [];
  /** REGISTER requests whose Contact was a star, as they arrived. */
  readonly starContacts: string[] = [];
  private readonly nonces = new Set<string>();
  /** Credentials made for another site's challenge: a retry that went astray. */
  strayCredentials = 0;

  constructor(
    readonly system: string,
    readonly site: string,
  ) {
    super();
  }

  get name(): string {
    return `${this.system}/${this.site}`;
  }

  /** Calls a registered phone along the Path it registered with; gives the final status, 480 if it is not registered. */
  async call(account: string, hop: Remote): Promise<number> {
    const registration = this.registrations.get(account);
    if (!registration) return 480;
    const invite = this.compose('INVITE', registration.contact, account, registration.path, [
      ['Content-Type', 'application/sdp'],
    ]);
    const { final } = await this.transact(invite.text, invite.branch, hop);
    if (!final) return 408;
    const contact = final.contacts[0]?.uri ?? registration.contact;
    if (final.status >= 300) return final.status;
    const route = routeSet(final);
    const next = nextHop(route, contact) ?? hop;
    const dialog: Header[] = [
      ['Call-ID', invite.callId],
      ['From', `<sip:call-server@${this.host}>;tag=${invite.tag}`],
      ['To', final.get('to') ?? ''],
      ...route.map((value): Header => ['Route', value]),
    ];
    const via = (branch: string): Header => ['Via', `SIP/2.0/UDP ${this.host};branch=${branch}`];
    const ackHeaders: Header[] = [
      via(`z9hG4bK${token()}`),
      ['Max-Forwards', '70'],
      ...dialog,
      ['CSeq', '1 ACK'],
    ];
    this.transmit(buildRequest({ method: 'ACK', uri: contact, headers: ackHeaders }), next);
    const branch = `z9hG4bK${token()}`;
    const byeHeaders: Header[] = [via(branch), ['Max-Forwards', '70'], ...dialog, ['CSeq', '2 BYE']];
    const bye = await this.transact(
      buildRequest({ method: 'BYE', uri: contact, headers: byeHeaders }),
      branch,
      next,
    );
    return bye.final?.status === 200 ? final.status : (bye.final?.status ?? 408);
  }

  protected override onRequest(request: SipMessage, from: Remote): void {
    const { method } = request;
    if (method === 'ACK') return;
    if (method !== 'OPTIONS') {
      this.counts[method] = (this.counts[method] ?? 0) + 1;
      const user = userOf(method === 'REGISTER' ? request.to?.uri : request.uri);
      this.seen.push({ order: (order += 1), method, user, from: userOf(request.from?.uri) });
    }
    switch (method) {
      case 'REGISTER':
        this.register(request, from);
        return;
      case 'INVITE':
        this.respond(request, from, 180, [this.contact]);
        this.respond(request, from, 200, [this.contact, ['Content-Type', 'application/sdp']], 'v=0\r\n');
        return;
      case 'SUBSCRIBE':
        this.subscribe(request, from);
        return;
      default:
        this.respond(request, from, 200, []);
    }
  }

  private get host(): string {
    return `${this.address}:${this.port}`;
  }

  private get contact(): Header {
    return ['Contact', `<sip:call-server@${this.host}>`];
  }

  private respond(
    request: SipMessage,
    from: Remote,
    status: number,
    headers: readonly Header[],
    body?: string,
  ): string {
    const toTag = tagOf(request, 'to') ?? `s${token()}`;
    const recordRoute = request.getAll('record-route').map((value): Header => ['Record-Route', value]);
    const text = buildResponse(request, {
      status,
      headers: [...recordRoute, ...headers],
      ...(tagOf(request, 'to') === undefined ? { toTag } : {}),
      ...(body === undefined ? {} : { body }),
    });
    this.answer(request, text, from);
    return toTag;
  }

  private register(request: SipMessage, from: Remote): void {
    const account = request.to ? (parseUri(request.to.uri)?.user ?? '') : '';
    const authorization = request.get('authorization');
    const nonce = authorization === undefined ? undefined : digestParam(authorization, 'nonce');
    if (authorization === undefined || nonce === undefined || !this.nonces.has(nonce)) {
      if (nonce !== undefined) this.strayCredentials += 1;
      const fresh = token(16);
      this.nonces.add(fresh);
      this.respond(request, from, 401, [
        ['WWW-Authenticate', `Digest realm="${this.system}",nonce="${fresh}",algorithm=MD5`],
      ]);
      return;
    }
    this.nonces.delete(nonce);
    const uri = digestParam(authorization, 'uri') ?? '';
    const expected = digestResponse(account, this.system, passwordOf(account), nonce, 'REGISTER', uri);
    if (digestParam(authorization, 'response') !== expected) {
      this.respond(request, from, 403, []);
      return;
    }
    const contact = request.get('contact');
    if (contact === '*') {
      this.starContacts.push(`${account} Expires: ${request.get('expires') ?? ''}`);
      this.registrations.delete(account);
      this.respond(request, from, 200, []);
      return;
    }
    const address = contact === undefined ? undefined : parseNameAddr(contact);
    if (address) this.registrations.set(account, { contact: address.uri, path: request.list('path') });
    this.respond(
      request,
      from,
      200,
      contact === undefined ? [] : [['Contact', `<${address?.uri ?? ''}>;expires=120`]],
    );
  }

  private subscribe(request: SipMessage, from: Remote): void {
    const toTag = this.respond(request, from, 202, [this.contact, ['Expires', '600']]);
    const target = request.contacts[0]?.uri;
    if (target === undefined) return;
    const route = request.list('record-route');
    const branch = `z9hG4bK${token()}`;
    const notify = buildRequest({
      method: 'NOTIFY',
      uri: target,
      headers: [
        ['Via', `SIP/2.0/UDP ${this.host};branch=${branch}`],
        ['Max-Forwards', '70'],
        ...route.map((value): Header => ['Route', value]),
        ['From', `${request.get('to') ?? ''};tag=${toTag}`],
        ['To', request.get('from') ?? ''],
        ['Call-ID', request.callId ?? ''],
        ['CSeq', '1 NOTIFY'],
        this.contact,
        ['Event', request.get('event') ?? 'dialog'],
        ['Subscription-State', 'active;expires=600'],
      ],
    });
    void this.transact(notify, branch, nextHop(route, target) ?? from);
  }

  private compose(
    method: string,
    uri: string,
    to: string,
    route: readonly string[],
    headers: readonly Header[],
  ) {
    const branch = `z9hG4bK${token()}`;
    const callId = `${token(8)}@${this.address}`;
    const tag = token();
    const text = buildRequest({
      method,
      uri,
      headers: [
        ['Via', `SIP/2.0/UDP ${this.host};branch=${branch}`],
        ['Max-Forwards', '70'],
        ...route.map((value): Header => ['Route', value]),
        ['From', `<sip:call-server@${this.host}>;tag=${tag}`],
        ['To', `<sip:${to}@${this.host}>`],
        ['Call-ID', callId],
        ['CSeq', `1 ${method}`],
        this.contact,
        ...headers,
      ],
      body: 'v=0\r\n',
    });
    return { text, branch, callId, tag };
  }
}

const userOf = (uri: string | undefined): string => (uri === undefined ? '' : (parseUri(uri)?.user ?? ''));
