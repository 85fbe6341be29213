import { answerText } from '../wire/answer';
import type { SipMessage } from '../../message/sip-message';
import { headerKey } from '../../message/header-name';
import type { Application } from '../control/application';
import { milliseconds, parseCommandMessage, type Command, type CommandMessage } from '../control/command';
import { metaTokens } from '../control/meta';
import type { DialogSeal } from '../proxy/dialog-seal';
import type { RouteMark } from '../proxy/forwarding';
import type { FlowOfToken } from '../proxy/in-dialog';
import {
  ProxySearch,
  type SearchEnvironment,
  type SearchOptions,
  type SearchReport,
} from '../proxy/proxy-search';
import type { Flow } from '../transport/flow';
import type { Inbound } from '../wire/inbound';
import { messageText } from '../wire/text';
import type { ApplicationRequests } from './application-requests';
import type { PendingRequest } from './pending-request';

const sameFlow = (a: Flow, b: Flow): boolean =>
  a.transport === b.transport && a.address === b.address && a.port === b.port;

/** What a search needs, for a request that came by this flow. */
export type SearchEnvironmentFor = (
  request: Inbound,
  options: { readonly entry: string | undefined; readonly existingOnly: boolean },
) => SearchEnvironment;

const LINE_END = /[\r\n]/g;
const BLANKS = /\s/g;

const statusList = (text: string): Set<number> =>
  new Set(
    text
      .split(',')
      .map((item) => Number(item.trim()))
      .filter((status) => Number.isInteger(status) && status >= 300),
  );

/** Runs `proxy|txn|…`. */
export class ProxyCommand {
  readonly #requests: ApplicationRequests;
  readonly #environment: SearchEnvironmentFor;
  readonly #seal: DialogSeal;
  readonly #flowOfToken: FlowOfToken;

  constructor(
    requests: ApplicationRequests,
    environment: SearchEnvironmentFor,
    dialogs: { readonly seal: DialogSeal; readonly flowOfToken: FlowOfToken },
  ) {
    this.#requests = requests;
    this.#environment = environment;
    this.#seal = dialogs.seal;
    this.#flowOfToken = dialogs.flowOfToken;
  }

  run(command: Command, application: Application): void {
    const [transactionId = '', , full, , , , , ...targets] = command.tokens;
    const parsed = parseCommandMessage(command.text);
    const pending = this.#requests.find(transactionId, application);
    const request = pending?.transaction.request;
    if (typeof parsed === 'string') application.reply(command.id, `NOK|${parsed}`);
    else if (!pending || !request)
      application.reply(command.id, `NOK|Unknown transaction id: ${transactionId}`);
    else if (targets.length === 0) application.reply(command.id, 'NOK|no destination');
    else if (request.message.maxForwards === 0) this.#tooManyHops(command, pending, request.message);
    else {
      const report = this.#report(command.id, pending, {
        full: full === 'fullResponse',
        lost: parsed.orders.has('failover'),
      });
      const environment = this.#environment(request, {
        entry: parsed.orders.get('entry'),
        existingOnly: parsed.orders.has('existing-flow'),
      });
      const options = this.#options(command.tokens, parsed, request);
      pending.search = new ProxySearch(pending.transaction, request, options, environment, report);
      if (full !== 'fullResponse') application.reply(command.id, 'OK|done');
      pending.search.start();
      this.#requests.proxied(pending);
    }
  }

  #options(tokens: readonly string[], given: CommandMessage, request: Inbound): SearchOptions {
    const [, remain, , follow, forking, provisional, final, ...targets] = tokens;
    const { orders } = given;
    const failover = orders.get('failover');
    const removed = (orders.get('remove') ?? '').split(',').map((name) => headerKey(name.trim()));
    return {
      targets,
      simultaneous: forking === 'simultaneous',
      followRedirects: follow === 'followRedirects',
      patience: { provisional: milliseconds(provisional), final: milliseconds(final) },
      headers: {
        given: given.lines,
        removed: new Set(removed.filter((key) => key !== '' && !KEPT.has(key))),
        requestUri: orders.get('request-uri')?.replace(BLANKS, '') || undefined,
      },
      recordRoute:
        remain === 'remainInDialog' ? this.#routeMark(request, orders.get('record-route-user')) : undefined,
      failover: failover === undefined ? undefined : statusList(failover),
    };
  }

  /** The token names the flow the request came by, or else the called side's. */
  #routeMark(request: Inbound, user: string | undefined): RouteMark {
    const flow = user === undefined ? undefined : this.#flowOfToken(user);
    const tokenOf = flow && (sameFlow(flow, request.flow) ? 'caller' : 'callee');
    return { user, seal: this.#seal.seal(request.message, tokenOf) };
  }

  #report(
    commandId: string,
    pending: PendingRequest,
    wants: { readonly full: boolean; readonly lost: boolean },
  ): SearchReport {
    const { application } = pending;
    const final = (text: string, from: Flow | undefined): void => {
      const meta = metaTokens('network', text.length, from);
      if (wants.full) application.reply(commandId, `OK|${meta}|||continue\r\n${text}`);
    };
    return {
      answered: (message, from) => final(messageText(message), from),
      lost: (request, target, status, reason) => {
        if (!wants.lost) return;
        const lines = [{ name: 'X-Dsbc-Target', value: target.replace(LINE_END, '') }];
        final(answerText(request, { status, reason: reason.replace(LINE_END, ' '), lines }), undefined);
      },
      done: (cancelled) => {
        this.#requests.settled(pending);
        if (wants.full) application.reply(commandId, cancelled ? 'OK|done|cancelled' : 'OK|done');
      },
    };
  }

  #tooManyHops(command: Command, pending: PendingRequest, request: SipMessage): void {
    const { transaction, application } = pending;
    transaction.respond(483, answerText(request, { status: 483, toTag: transaction.toTag }));
    this.#requests.settled(pending);
    application.reply(command.id, 'NOK|Rejected with 483 Too Many Hops due to Max-Forwards value of 0');
  }
}

/** A request without these is none. */
const KEPT = new Set(['via', 'from', 'to', 'call-id', 'cseq', 'max-forwards', 'content-length']);
