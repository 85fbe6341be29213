import { randomUUID } from 'node:crypto';
import { parseNameAddr } from '../../message/name-addr';
import { parseMessage } from '../../message/parse';
import type { SipMessage } from '../../message/sip-message';
import type { SipUri } from '../../message/uri';
import type { Application } from '../control/application';
import { milliseconds, parseCommandMessage, type Command, type CommandMessage } from '../control/command';
import { metaTokens } from '../control/meta';
import type { ClientDialogs, Opening } from '../dialog/client-dialogs';
import { tagOf, type Dialog } from '../dialog/dialog';
import type { BranchSeal } from '../proxy/branch-seal';
import { asSipUri } from '../proxy/next-hop';
import { ownVia } from '../proxy/via-lines';
import type { ClientTransaction, ClientUser } from '../transaction/client-transaction';
import { cancelOf, outgoing, type Outgoing } from '../transaction/outgoing';
import type { SendError, Flow } from '../transport/flow';
import { answerText } from '../wire/answer';
import { messageText, newTag } from '../wire/text';
import { missingLines } from './answer-command';
import { completeHeaders, opensDialog } from './own-headers';

type MaybeFlow = Flow | undefined | Promise<Flow | undefined>;

export interface OwnRequestEnvironment {
  /** Where a next hop is, from a given entry address (`address:port`) if one is named. */
  readonly flowTo: (
    hop: SipUri,
    options: { readonly entry: string | undefined; readonly existingOnly: boolean },
  ) => MaybeFlow;
  readonly isOwnUri: (uri: SipUri | undefined) => boolean;
  readonly send: (
    request: Outgoing,
    flow: Flow,
    user: ClientUser,
    patience?: number,
  ) => ClientTransaction | undefined;
  readonly dialogs: ClientDialogs;
  readonly branches: BranchSeal;
}

/** Which dialog a request opens, or is inside of. */
type DialogPart =
  | { readonly kind: 'none' }
  | { readonly kind: 'opens'; readonly id: string; readonly opening: Opening }
  | { readonly kind: 'inside'; readonly id: string; readonly dialog: Dialog };

interface OwnRequest {
  readonly id: string;
  readonly application: Application;
  readonly sent: Outgoing;
  readonly part: DialogPart;
  /** A request that ends its dialog, whatever is answered. */
  readonly last: boolean;
  /** A request that ends its dialog if nothing is answered. */
  readonly provesLife: boolean;
  client: ClientTransaction | undefined;
  abandoned: boolean;
  done: boolean;
}

const REQUEST_LINE = /^([^\s]+) ([^\s]+) SIP\/2\.0$/i;
/** What drachtio-srf writes where the server knows the remote target. */
const PLACEHOLDER = 'placeholder';

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
    const [transactionId = '', dialogId = '', nextHop = ''] = command.tokens;
    const given = parseCommandMessage(command.text);
    const match = typeof given === 'string' ? null : REQUEST_LINE.exec(given.startLine);
    const line = { method: match?.[1] ?? '', uri: match?.[2] ?? '' };
    if (typeof given === 'string') application.reply(command.id, `NOK|${given}`);
    else if (!match) application.reply(command.id, 'NOK|malformed request line');
    else if (lacksContentType(given)) application.reply(command.id, 'NOK|missing content-type');
    else if (dialogId !== '') this.#inside(command, application, given, line, dialogId);
    else if (transactionId !== '') this.#cancel(command, application, transactionId, given, line.method);
    else this.#outside(command, application, given, line, nextHop);
  }

  /** Its own requests go on, but nobody hears of them. */
  applicationGone(application: Application): void {
    for (const request of [...this.#requests.values()]) {
      if (request.application === application) this.#abandon(request);
    }
  }

  #outside(
    command: Command,
    application: Application,
    given: CommandMessage,
    line: RequestLine,
    nextHop: string,
  ): void {
    const route = given.lines.find(({ key }) => key === 'route')?.value;
    const hop = asSipUri(nextHop !== '' ? nextHop : (parseNameAddr(route ?? '')?.uri ?? line.uri));
    if (!hop) application.reply(command.id, `NOK|invalid request-uri: ${line.uri}`);
    else if (nextHop === '' && this.#environment.isOwnUri(hop))
      application.reply(command.id, 'NOK|can not send request to myself');
    else if (opensDialog(line.method) && this.#environment.dialogs.full)
      application.reply(command.id, 'NOK|too many dialogs');
    else {
      const found = this.#environment.flowTo(hop, {
        entry: given.orders.get('entry'),
        existingOnly: given.orders.has('existing-flow'),
      });
      this.#withFlow(command, application, found, (flow) => {
        const headers = completeHeaders(given, line, flow);
        const branch = this.#environment.branches.fresh(headers);
        const sent = outgoing({ ...line, branch, via: ownVia(flow, branch), body: given.body }, headers);
        const contact = headers.find(({ key }) => key === 'contact')?.value ?? '';
        this.#launch(command, application, sent, flow, given, openingPart(sent, application, flow, contact));
      });
    }
  }

  #inside(
    command: Command,
    application: Application,
    given: CommandMessage,
    line: RequestLine,
    dialogId: string,
  ): void {
    const { dialogs } = this.#environment;
    const dialog = dialogs.find(dialogId, application);
    if (!dialog) {
      application.reply(command.id, 'NOK|Server error: unable to find dialog for dialog id provided');
      return;
    }
    this.#withFlow(command, application, dialogs.flowOf(dialog), (flow) => {
      const lines = [...given.lines, ...missingLines(given, undefined)];
      if (line.method === 'ACK') {
        const ack = dialogs.acknowledge(dialog, flow, lines, given.body);
        this.#reply(command, application, ack, flow, randomUUID());
        return;
      }
      const uri = line.uri.includes(PLACEHOLDER) ? undefined : line.uri;
      const sent = dialogs.build(dialog, line.method, flow, lines, given.body, undefined, uri);
      this.#launch(command, application, sent, flow, given, { kind: 'inside', id: dialogId, dialog });
    });
  }

  #launch(
    command: Command,
    application: Application,
    sent: Outgoing,
    flow: Flow,
    given: CommandMessage,
    part: DialogPart,
  ): void {
    const own: OwnRequest = {
      id: randomUUID(),
      application,
      sent,
      part,
      last: part.kind === 'inside' && endsDialog(part.dialog, sent.method, given),
      provesLife: part.kind === 'inside' && provesLife(part.dialog, sent.method, given),
      client: undefined,
      abandoned: false,
      done: false,
    };
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
    if (part.kind === 'opens') this.#environment.dialogs.opening(part.id, part.opening);
    this.#reply(command, application, sent, flow, own.id);
  }

  #reply(
    command: Command,
    application: Application,
    sent: Outgoing,
    flow: Flow | undefined,
    id: string,
  ): void {
    const meta = metaTokens('application', sent.text.length, flow);
    application.reply(command.id, `OK|${meta}|${id}|Msg sent:|\r\n${sent.text}`);
  }

  #withFlow(command: Command, application: Application, found: MaybeFlow, use: (flow: Flow) => void): void {
    const go = (flow: Flow | undefined): void => {
      if (flow) use(flow);
      else application.reply(command.id, 'NOK|requested protocol/transport not available');
    };
    if (found instanceof Promise) void found.then(go);
    else go(found);
  }

  #answered(own: OwnRequest, message: SipMessage, from: Flow): void {
    const isRepeated = own.done;
    if (message.status >= 200) this.#finish(own);
    if (this.#fate(own, message, from, isRepeated) === 'swallow' || own.abandoned || isRepeated) return;
    const meta = metaTokens('network', message.raw.length, from);
    const dialogId = own.part.kind === 'none' ? '' : own.part.id;
    own.application.tell(`sip|${meta}|${own.id}|${dialogId}|\r\n${messageText(message)}`);
  }

  #fate(own: OwnRequest, message: SipMessage, from: Flow, isRepeated: boolean): 'tell' | 'swallow' {
    const { dialogs } = this.#environment;
    const { part, sent } = own;
    if (part.kind === 'none') return 'tell';
    return part.kind === 'opens'
      ? dialogs.answered(part.id, part.opening, message, from, own.abandoned)
      : dialogs.answeredInside(part.dialog, sent, message, from, isRepeated);
  }

  /** The application hears of it as an answer of the server's own: without an address. */
  #failed(own: OwnRequest, reason: 'timeout' | SendError): void {
    this.#finish(own);
    if (own.part.kind === 'opens') this.#environment.dialogs.failed(own.part.id);
    if (own.part.kind === 'inside' && own.provesLife) this.#environment.dialogs.ended(own.part.dialog);
    if (own.abandoned) return;
    const status = reason === 'timeout' ? 408 : reason.failure === 'flow_failed' ? 430 : 503;
    const parsed = parseMessage(own.sent.text);
    if (!parsed.ok) return;
    const text = answerText(parsed.message, { status, toTag: newTag() });
    const dialogId = own.part.kind === 'none' ? '' : own.part.id;
    const meta = metaTokens('network', text.length, undefined);
    own.application.tell(`sip|${meta}|${own.id}|${dialogId}|\r\n${text}`);
  }

  #finish(own: OwnRequest): void {
    own.done = true;
    this.#requests.delete(own.id);
    if (own.last && own.part.kind === 'inside') this.#environment.dialogs.ended(own.part.dialog);
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
    if (own.sent.method === 'INVITE') own.client?.cancel(extra);
    if (own.sent.method !== 'INVITE' || given.orders.has('abandon')) this.#abandon(own);
    this.#reply(command, application, cancelOf(own.sent, extra), own.client?.flow, randomUUID());
  }

  #abandon(own: OwnRequest): void {
    own.abandoned = true;
    this.#requests.delete(own.id);
    own.client?.abandon();
    // Nobody will hear its answer: what it was to end is over.
    if (own.last && own.part.kind === 'inside') this.#environment.dialogs.ended(own.part.dialog);
  }
}

const lacksContentType = (given: CommandMessage): boolean =>
  given.body !== '' &&
  !given.body.startsWith('v=0') &&
  !given.lines.some(({ key }) => key === 'content-type');

/** BYE, and the NOTIFY that terminates a subscription. */
function endsDialog(dialog: Dialog, method: string, given: CommandMessage): boolean {
  if (method === 'BYE') return true;
  const state = given.lines.find(({ key }) => key === 'subscription-state')?.value ?? '';
  return dialog.isSubscription && method === 'NOTIFY' && /^terminated\b/i.test(state);
}

/** RFC 6665 §4.2.2: a NOTIFY nobody answers ends the subscription; so does an unsubscription nobody answers. */
function provesLife(dialog: Dialog, method: string, given: CommandMessage): boolean {
  if (!dialog.isSubscription) return false;
  const expires = given.lines.find(({ key }) => key === 'expires')?.value;
  return method === 'NOTIFY' || (method === 'SUBSCRIBE' && expires?.trim() === '0');
}

function openingPart(sent: Outgoing, application: Application, flow: Flow, contact: string): DialogPart {
  if (!opensDialog(sent.method)) return { kind: 'none' };
  const parsed = parseMessage(sent.text);
  const tag = parsed.ok ? tagOf(parsed.message, 'from') : undefined;
  const id = `${sent.callId};from-tag=${tag ?? ''}`;
  return {
    kind: 'opens',
    id,
    opening: { method: sent.method, sent, application, entry: flow.entry, contact },
  };
}
