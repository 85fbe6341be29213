import { param, parseNameAddr } from '../../message/name-addr';
import { parseMessage } from '../../message/parse';
import type { SipUri } from '../../message/uri';
import { randomUUID } from 'node:crypto';
import type { Header, SipMessage } from '../../message/sip-message';
import type { Application } from '../control/application';
import { milliseconds, parseCommandMessage, type Command, type CommandMessage } from '../control/command';
import { metaTokens } from '../control/meta';
import type { ClientTransaction, ClientUser } from '../transaction/client-transaction';
import { cancelOf, outgoing, type Outgoing } from '../transaction/outgoing';
import type { SendError, Flow } from '../transport/flow';
import { hostPort } from '../transport/flow';
import { ownVia } from '../proxy/via-lines';
import { answerText } from '../wire/answer';
import { messageText, newBranch, newTag } from '../wire/text';
import { missingLines } from './answer-command';
import { asSipUri } from '../proxy/next-hop';

/** The server's own in every request. */
const OWN = new Set(['record-route', 'rseq', 'content-length']);

export interface OwnRequestEnvironment {
  /** Where a next hop is, from a given entry address (`address:port`) if one is named. */
  flowTo(
    hop: SipUri,
    options: { readonly entry: string | undefined; readonly existingOnly: boolean },
  ): Flow | undefined | Promise<Flow | undefined>;
  isOwnUri(uri: SipUri | undefined): boolean;
  send(request: Outgoing, flow: Flow, user: ClientUser, patience?: number): ClientTransaction | undefined;
}

interface OwnRequest {
  readonly id: string;
  readonly application: Application;
  readonly sent: Outgoing;
  client: ClientTransaction | undefined;
  abandoned: boolean;
}

const REQUEST_LINE = /^([^\s]+) ([^\s]+) SIP\/2\.0$/i;

interface RequestLine {
  readonly method: string;
  readonly uri: string;
}

/** The requests that applications send by themselves: `sip||` with a request, and CANCEL of one. */
export class OwnRequests {
  readonly #environment: OwnRequestEnvironment;
  readonly #requests = new Map<string, OwnRequest>();

  constructor(environment: OwnRequestEnvironment) {
    this.#environment = environment;
  }

  get count(): number {
    return this.#requests.size;
  }

  run(command: Command, application: Application): void {
    const [transactionId = '', , nextHop = ''] = command.tokens;
    const parsed = parseCommandMessage(command.text);
    const line = typeof parsed === 'string' ? null : REQUEST_LINE.exec(parsed.startLine);
    if (typeof parsed === 'string') application.reply(command.id, `NOK|${parsed}`);
    else if (!line) application.reply(command.id, 'NOK|malformed request line');
    else if (transactionId !== '') this.#cancel(command, application, transactionId, parsed, line[1] ?? '');
    else this.#prepare(command, application, parsed, { method: line[1] ?? '', uri: line[2] ?? '' }, nextHop);
  }

  /** Its own requests go on, but nobody hears of them. */
  applicationGone(application: Application): void {
    for (const request of [...this.#requests.values()]) {
      if (request.application === application) this.#abandon(request);
    }
  }

  #prepare(
    command: Command,
    application: Application,
    given: CommandMessage,
    line: RequestLine,
    nextHop: string,
  ): void {
    if (
      given.body !== '' &&
      !given.body.startsWith('v=0') &&
      !given.lines.some((h) => h.key === 'content-type')
    ) {
      application.reply(command.id, 'NOK|missing content-type');
      return;
    }
    const route = given.lines.find(({ key }) => key === 'route')?.value;
    const hopText = nextHop !== '' ? nextHop : (parseNameAddr(route ?? '')?.uri ?? line.uri);
    const hop = asSipUri(hopText);
    if (!hop) application.reply(command.id, `NOK|invalid request-uri: ${line.uri}`);
    else if (nextHop === '' && this.#environment.isOwnUri(hop))
      application.reply(command.id, 'NOK|can not send request to myself');
    else {
      const found = this.#environment.flowTo(hop, {
        entry: given.orders.get('entry'),
        existingOnly: given.orders.has('existing-flow'),
      });
      const go = (flow: Flow | undefined): void => {
        if (flow) this.#send(command, application, given, line, flow);
        else application.reply(command.id, 'NOK|requested protocol/transport not available');
      };
      if (found instanceof Promise) void found.then(go);
      else go(found);
    }
  }

  #send(
    command: Command,
    application: Application,
    given: CommandMessage,
    line: RequestLine,
    flow: Flow,
  ): void {
    const branch = newBranch();
    const sent = outgoing(
      { ...line, branch, via: ownVia(flow, branch), body: given.body },
      completeHeaders(given, line, flow),
    );
    const own: OwnRequest = { id: randomUUID(), application, sent, client: undefined, abandoned: false };
    own.client = this.#environment.send(
      sent,
      flow,
      {
        answer: (message, from) => this.#answered(own, message, from),
        failed: (reason) => this.#failed(own, reason),
      },
      milliseconds(given.orders.get('timeout')),
    );
    if (!own.client) {
      application.reply(command.id, 'NOK|too many transactions');
      return;
    }
    this.#requests.set(own.id, own);
    const meta = metaTokens('application', sent.text.length, flow);
    application.reply(command.id, `OK|${meta}|${own.id}|Msg sent:|\r\n${sent.text}`);
  }

  #answered(own: OwnRequest, message: SipMessage, from: Flow): void {
    if (message.status >= 200) this.#requests.delete(own.id);
    if (own.abandoned) return;
    const meta = metaTokens('network', message.raw.length, from);
    own.application.tell(`sip|${meta}|${own.id}||\r\n${messageText(message)}`);
  }

  /** The application hears of it as an answer of the server's own: without an address. */
  #failed(own: OwnRequest, reason: 'timeout' | SendError): void {
    this.#requests.delete(own.id);
    if (own.abandoned) return;
    const status = reason === 'timeout' ? 408 : reason.failure === 'flow_failed' ? 430 : 503;
    const parsed = parseMessage(own.sent.text);
    if (!parsed.ok) return;
    const text = answerText(parsed.message, { status, toTag: newTag() });
    own.application.tell(`sip|${metaTokens('network', text.length, undefined)}|${own.id}||\r\n${text}`);
  }

  #cancel(
    command: Command,
    application: Application,
    id: string,
    given: CommandMessage,
    method: string,
  ): void {
    const own = this.#requests.get(id);
    if (method !== 'CANCEL' || own?.application !== application) {
      application.reply(command.id, `NOK|unable to cancel unknown transaction id: ${id}`);
      return;
    }
    const extra = given.lines.filter(({ key }) => key === 'reason' || key.startsWith('x-'));
    const cancel = cancelOf(own.sent, extra);
    if (own.sent.method === 'INVITE') own.client?.cancel(extra);
    if (own.sent.method !== 'INVITE' || given.orders.has('abandon')) this.#abandon(own);
    const meta = metaTokens('application', cancel.text.length, own.client?.flow);
    application.reply(command.id, `OK|${meta}|${randomUUID()}|Msg sent:|\r\n${cancel.text}`);
  }

  #abandon(own: OwnRequest): void {
    own.abandoned = true;
    this.#requests.delete(own.id);
    own.client?.abandon();
  }
}

/** The header lines as given, and what a request can't do without (RFC 3261 §8.1.1). */
function completeHeaders(given: CommandMessage, line: RequestLine, flow: Flow): Header[] {
  // A Via under its long name is ours to write; under the compact one it is a lower hop's, kept below ours.
  const kept = given.lines.filter(({ key, name }) => !OWN.has(key) && (key !== 'via' || name.length === 1));
  const { entry } = flow;
  const ownUri = `<sip:${hostPort(entry.address, entry.port)}${flow.transport === 'tcp' ? ';transport=tcp' : ''}>`;
  const headers = kept.map((header) => (header.key === 'from' ? withTag(header) : header));
  const add = (name: string, key: string, value: string): void => {
    if (!headers.some((header) => header.key === key)) headers.push({ name, key, value });
  };
  add('Max-Forwards', 'max-forwards', '70');
  add('From', 'from', `${ownUri};tag=${newTag()}`);
  add('To', 'to', `<${line.uri}>`);
  add('Call-ID', 'call-id', randomUUID());
  const cseq = headers.findIndex(({ key }) => key === 'cseq');
  if (cseq >= 0 && !/^\d+[ \t]+\S+$/.test(headers[cseq]?.value ?? '')) headers.splice(cseq, 1);
  add('CSeq', 'cseq', `1 ${line.method}`);
  const formsDialog = line.method === 'INVITE' || line.method === 'SUBSCRIBE';
  return [...headers, ...missingLines(given, formsDialog ? ownUri : undefined)];
}

function withTag(from: Header): Header {
  const address = parseNameAddr(from.value);
  if (!address || param(address.params, 'tag') !== undefined) return from;
  const text = from.value.includes('<') ? from.value : `<${address.uri}>`;
  return { ...from, value: `${text};tag=${newTag()}` };
}
