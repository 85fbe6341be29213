import { param } from '../../message/name-addr';
import { parseNameAddr } from '../../message/name-addr';
import type { Header } from '../../message/sip-message';
import type { Application } from '../control/application';
import { parseCommandMessage, type Command } from '../control/command';
import { metaTokens } from '../control/meta';
import { hostPort } from '../transport/flow';
import { answerText } from '../wire/answer';
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

  constructor(requests: ApplicationRequests) {
    this.#requests = requests;
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
      pending.transaction.swallow();
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
    const formsDialog = message.method === 'INVITE' || message.method === 'SUBSCRIBE';
    pending.tag ??= chosenTag(given.lines);
    const { entry } = request.flow;
    const contact =
      formsDialog && status >= 200 && status < 300
        ? `<sip:${hostPort(entry.address, entry.port)}${request.flow.transport === 'tcp' ? ';transport=tcp' : ''}>`
        : undefined;
    const lines = given.lines.filter(({ key }) => !OWN.has(key));
    const text = answerText(message, {
      status,
      reason: reason === '' ? undefined : reason,
      toTag: pending.tag ?? transaction.toTag,
      lines: [...lines, ...missingLines(given, contact)],
      body: given.body,
      recordRoute: status > 100 && status < 300,
    });
    if (!transaction.respond(status, text)) {
      application.reply(command.id, 'NOK|a final answer was sent already');
      return;
    }
    this.#requests.answered(pending, status);
    const meta = metaTokens('application', text.length, transaction.answerFlow);
    const dialogId = formsDialog ? dialogIdOf(message) : '';
    application.reply(command.id, `OK|${meta}|${transaction.id}|${dialogId}||Msg sent:|\r\n${text}`);
  }
}
