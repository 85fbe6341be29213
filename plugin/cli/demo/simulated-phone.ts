import { buildRequest, buildResponse } from '../../message/build';
import type { SipMessage } from '../../message/sip-message';
import { credentials } from './digest';
import { passwordOf } from './simulated-site';
import { nextHop, routeSet, tagOf, token, UdpParty, type Remote } from './udp-party';

type Header = readonly [string, string];

export interface PhoneOptions {
  readonly account: string;
  /** The entry address it sends everything to. */
  readonly proxy: Remote;
  readonly domain: string;
  /** What it believes its address to be; a private one makes it a phone behind NAT. Default: where its socket is bound. */
  readonly believes?: string;
  /** Default: the one the simulated sites know. */
  readonly password?: string;
}

/** A phone, simulated: registers with digest, calls, subscribes, sends messages, and answers calls to it. */
export class SimulatedPhone extends UdpParty {
  /** Methods of the requests that reached it. */
  readonly received: string[] = [];
  private sequence = 0;

  constructor(private readonly options: PhoneOptions) {
    super();
  }

  get account(): string {
    return this.options.account;
  }

  /** Registers, answering one challenge; the final status, 408 for silence. */
  async register(contact?: string): Promise<number> {
    const callId = token(8);
    const headers: Header[] =
      contact === '*'
        ? [
            ['Contact', '*'],
            ['Expires', '0'],
          ]
        : [
            ['Contact', contact ?? this.contact],
            ['Expires', '120'],
            ['Supported', 'path'],
          ];
    const uri = `sip:${this.options.domain}`;
    const first = await this.send('REGISTER', uri, this.identity, callId, headers);
    const challenge = first?.get('www-authenticate');
    if (first?.status !== 401 || challenge === undefined) return first?.status ?? 408;
    const authorization = credentials(
      challenge,
      this.options.account,
      this.options.password ?? passwordOf(this.options.account),
      'REGISTER',
      uri,
    );
    const second = await this.send('REGISTER', uri, this.identity, callId, [
      ...headers,
      ['Authorization', authorization],
    ]);
    return second?.status ?? 408;
  }

  /** Calls a number and hangs up; 200 only if the call was answered, acknowledged and ended well. */
  async call(number: string): Promise<number> {
    const callId = token(8);
    const fromTag = token();
    const uri = `sip:${number}@${this.options.domain}`;
    const headers: Header[] = [
      ['Contact', this.contact],
      ['Content-Type', 'application/sdp'],
    ];
    const answer = await this.send('INVITE', uri, `<${uri}>`, callId, headers, { body: 'v=0\r\n', fromTag });
    if (!answer || answer.status >= 300) return answer?.status ?? 408;
    const target = answer.contacts[0]?.uri ?? uri;
    const route = routeSet(answer);
    const inDialog: Header[] = route.map((value): Header => ['Route', value]);
    const hop = nextHop(route, target) ?? this.options.proxy;
    const to = answer.get('to') ?? '';
    this.transmit(
      this.compose('ACK', target, to, callId, inDialog, { fromTag, sequence: this.sequence }).text,
      hop,
    );
    const bye = await this.send('BYE', target, to, callId, inDialog, { fromTag, hop });
    return bye?.status === 200 ? answer.status : (bye?.status ?? 408);
  }

  async message(number: string, body: string): Promise<number> {
    const uri = `sip:${number}@${this.options.domain}`;
    const answer = await this.send(
      'MESSAGE',
      uri,
      `<${uri}>`,
      token(8),
      [['Content-Type', 'text/plain;charset=utf-8']],
      {
        body: Buffer.from(body, 'utf8').toString('latin1'),
      },
    );
    return answer?.status ?? 408;
  }

  async subscribe(number: string, event: string): Promise<number> {
    const uri = `sip:${number}@${this.options.domain}`;
    const headers: Header[] = [
      ['Contact', this.contact],
      ['Event', event],
      ['Expires', '600'],
    ];
    const answer = await this.send('SUBSCRIBE', uri, `<${uri}>`, token(8), headers);
    return answer?.status ?? 408;
  }

  /** Any other request outside a dialog; the final status, 408 for silence. */
  async request(method: string, number: string, headers: readonly Header[]): Promise<number> {
    const uri = `sip:${number}@${this.options.domain}`;
    const answer = await this.send(method, uri, `<${uri}>`, token(8), [
      ['Contact', this.contact],
      ...headers,
    ]);
    return answer?.status ?? 408;
  }

  protected override onRequest(request: SipMessage, from: Remote): void {
    this.received.push(request.method);
    if (request.method === 'ACK') return;
    const recordRoute = request.getAll('record-route').map((value): Header => ['Record-Route', value]);
    const text = buildResponse(request, {
      status: 200,
      headers: request.method === 'INVITE' ? [...recordRoute, ['Contact', this.contact]] : [],
      ...(tagOf(request, 'to') === undefined ? { toTag: token() } : {}),
    });
    this.answer(request, text, from);
  }

  private get identity(): string {
    return `<sip:${this.options.account}@${this.options.domain}>`;
  }

  private get contact(): string {
    return `<sip:${this.options.account}@${this.options.believes ?? `${this.address}:${this.port}`}>`;
  }

  private compose(
    method: string,
    uri: string,
    to: string,
    callId: string,
    headers: readonly Header[],
    {
      fromTag = token(),
      body,
      sequence = ++this.sequence,
    }: { fromTag?: string; body?: string; sequence?: number } = {},
  ): { text: string; branch: string } {
    const branch = `z9hG4bK${token()}`;
    const text = buildRequest({
      method,
      uri,
      headers: [
        [
          'Via',
          `SIP/2.0/UDP ${this.options.believes ?? `${this.address}:${this.port}`};branch=${branch};rport`,
        ],
        ['Max-Forwards', '70'],
        ['From', `${this.identity};tag=${fromTag}`],
        ['To', to],
        ['Call-ID', callId],
        ['CSeq', `${sequence} ${method}`],
        ...headers,
      ],
      ...(body === undefined ? {} : { body }),
    });
    return { text, branch };
  }

  private async send(
    method: string,
    uri: string,
    to: string,
    callId: string,
    headers: readonly Header[],
    { hop = this.options.proxy, ...rest }: { hop?: Remote; fromTag?: string; body?: string } = {},
  ): Promise<SipMessage | undefined> {
    const { text, branch } = this.compose(method, uri, to, callId, headers, rest);
    const { final } = await this.transact(text, branch, hop);
    if (final && method === 'INVITE' && final.status >= 300) this.acknowledgeRefusal(text, final, hop);
    return final;
  }

  /** RFC 3261 §17.1.1.3: the ACK of a refusal has the branch of its INVITE. */
  private acknowledgeRefusal(invite: string, final: SipMessage, hop: Remote): void {
    const head = invite
      .slice(0, invite.indexOf('\r\n\r\n'))
      .split('\r\n')
      .filter((line) => !/^(to|contact|content-[a-z]+):/i.test(line))
      .map((line) => line.replace(/^INVITE /, 'ACK ').replace(/^(CSeq: \d+) INVITE/, '$1 ACK'));
    this.transmit([...head, `To: ${final.get('to') ?? ''}`, 'Content-Length: 0', '', ''].join('\r\n'), hop);
  }
}
