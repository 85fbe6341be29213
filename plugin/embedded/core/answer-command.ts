import { randomInt } from 'node:crypto';
import { param, parseNameAddr } from '../../message/name-addr';
import type { Header } from '../../message/sip-message';
import type { Application } from '../control/application';
import { parseCommandMessage, type Command } from '../control/command';
import { metaTokens } from '../control/meta';
import { isReliable, type ServerDialogs } from '../dialog/server-dialogs';
import { hostPort } from '../transport/flow';
import { answerText } from '../wire/answer';
import type { Inbound } from '../wire/inbound';
import { dialogIdOf, type ApplicationRequests } from './application-requests';
import type { PendingRequest } from './pending-request';

/** The server's own in every answer: what the application's message says there is not taken. */
const OWN = new Set([
  'via',
  'from',
  'to',
  'call-id',
  'cseq',
  'record-route',
  'route',
  'rseq',
  'content-length',
]);

const STATUS_LINE = /^SIP\/2\.0 ([1-6]\d\d) ?(.*)$/i;

function chosenTag(lines: readonly Header[]): string | undefined {
  const to = lines.find(({ key }) => key === 'to');
  const address = to && parseNameAddr(to.value);
  const tag = address && param(address.params, 'tag');
  return typeof tag === 'string' && tag !== '' ? tag : undefined;
}

/** Lines an answer needs and the application did not give: Contact where a dialog begins, Content-Type for SDP. */
export function missingLines(
  message: { readonly lines: readonly Header[]; readonly body: string },
  contact: string | undefined,
): Header[] {
  const has = (wanted: string): boolean => message.lines.some(({ key }) => key === wanted);
  const missing: Header[] = [];
  if (contact !== undefined && !has('contact'))
    missing.push({ name: 'Contact', key: 'contact', value: contact });
  if (message.body.startsWith('v=0') && !has('content-type'))
    missing.push({ name: 'Content-Type', key: 'content-type', value: 'application/sdp' });
  return missing;
}

/** Runs `sip|txn|` with an answer: the application answers a request of the network. */
export class AnswerCommand {
  readonly #requests: ApplicationRequests;
  readonly #dialogs: ServerDialogs;

  constructor(requests: ApplicationRequests, dialogs: ServerDialogs) {
    this.#requests = requests;
    this.#dialogs = dialogs;
  }

  run(command: Command, application: Application): void {
    const [transactionId = ''] = command.tokens;
    const parsed = parseCommandMessage(command.text);
    const status = typeof parsed === 'string' ? null : STATUS_LINE.exec(parsed.startLine);
    const pending = this.#requests.find(transactionId, application);
    if (typeof parsed === 'string') application.reply(command.id, `NOK|${parsed}`);
    else if (!status) application.reply(command.id, 'NOK|malformed status line');
    else if (!pending) application.reply(command.id, 'NOK|Response not sent due to unknown transaction');
    else if (parsed.orders.has('drop')) {
      if (parsed.orders.get('drop') === 'forget') pending.transaction.close();
      else pending.transaction.swallow();
      this.#requests.settled(pending);
      application.reply(command.id, 'OK');
    } else
      this.#answer(command, pending, parsed, { status: Number(status[1]), reason: status[2]?.trim() ?? '' });
  }

  #answer(
    command: Command,
    pending: PendingRequest,
    given: { readonly lines: readonly Header[]; readonly body: string },
    { status, reason }: { readonly status: number; readonly reason: string },
  ): void {
    const { transaction, application } = pending;
    const { request } = transaction;
    if (!request) {
      application.reply(command.id, 'NOK|Response not sent due to unknown transaction');
      return;
    }
    const { message } = request;
    const opensDialog = message.method === 'INVITE' || message.method === 'SUBSCRIBE';
    if (opensDialog && status > 100 && status < 300 && this.#dialogs.full) {
      application.reply(command.id, 'NOK|too many dialogs');
      return;
    }
    pending.tag ??= chosenTag(given.lines);
    if (opensDialog && status > 100 && status < 300 && this.#dialogs.isTaken(pending, request)) {
      transaction.respond(482, answerText(message, { status: 482, toTag: transaction.toTag }));
      this.#requests.settled(pending);
      application.reply(command.id, 'NOK|dialog already exists, rejecting this request');
      return;
    }
    const reliable = this.#reliableSequence(pending, message.method, status, given.lines);
    const lines = this.#lines(request, given, { status, opensDialog, reliable });
    const text = answerText(message, {
      status,
      reason: reason === '' ? undefined : reason,
      toTag: pending.tag ?? transaction.toTag,
      lines,
      body: given.body,
      recordRoute: status > 100 && status < 300,
    });
    if (!transaction.respond(status, text)) {
      application.reply(command.id, 'NOK|a final answer was sent already');
      return;
    }
    const contact = lines.find(({ key }) => key === 'contact')?.value;
    this.#dialogs.answered(pending, request, { status, text, contact, reliable });
    this.#requests.answered(pending, status);
    const meta = metaTokens('application', text.length, transaction.answerFlow);
    const dialogId = pending.dialogId !== '' ? pending.dialogId : opensDialog ? dialogIdOf(message) : '';
    application.reply(command.id, `OK|${meta}|${transaction.id}|${dialogId}||Msg sent:|\r\n${text}`);
  }

  /** The application's lines, and what it may leave to the server. */
  #lines(
    request: Inbound,
    given: { readonly lines: readonly Header[]; readonly body: string },
    about: { readonly status: number; readonly opensDialog: boolean; readonly reliable: number | undefined },
  ): Header[] {
    const { status, opensDialog, reliable } = about;
    const { entry, transport } = request.flow;
    const wantsContact = opensDialog && ((status >= 200 && status < 300) || reliable !== undefined);
    const ours = `<sip:${hostPort(entry.address, entry.port)}${transport === 'tcp' ? ';transport=tcp' : ''}>`;
    const lines = given.lines.filter(({ key }) => !OWN.has(key));
    if (reliable !== undefined) lines.push({ name: 'RSeq', key: 'rseq', value: String(reliable) });
    return [...lines, ...missingLines(given, wantsContact ? ours : undefined)];
  }

  /** The RSeq of a provisional answer that the application wants acknowledged. */
  #reliableSequence(
    pending: PendingRequest,
    method: string,
    status: number,
    lines: readonly Header[],
  ): number | undefined {
    const require = lines.filter(({ key }) => key === 'require').map(({ value }) => value);
    if (method !== 'INVITE' || status <= 100 || status >= 200 || !isReliable(require)) return undefined;
    pending.reliableSequence =
      pending.reliableSequence === 0 ? randomInt(1, 2 ** 31) : pending.reliableSequence + 1;
    return pending.reliableSequence;
  }
}
