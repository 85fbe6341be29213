import { bracketed } from '../../message/name-addr';
import type { SipMessage } from '../../message/sip-message';
import { asSipUri } from '../proxy/next-hop';
import type { SipUri } from '../../message/uri';
import type { Application } from '../control/application';
import { metaTokens } from '../control/meta';
import { ownVia } from '../proxy/via-lines';
import { outgoing, type Outgoing } from '../transaction/outgoing';
import type { EntryAddress, Flow } from '../transport/flow';
import type { Header } from '../../message/sip-message';
import { newBranch } from '../wire/text';
import { Dialog, tagOf } from './dialog';
import type { DialogTable } from './dialog-table';

export interface ClientDialogsEnvironment {
  readonly table: DialogTable;
  readonly flowTo: (uri: SipUri, from: { readonly entry: EntryAddress }) => MaybeFlow;
  readonly send: (flow: Flow, text: string) => void;
  /** Sends by a transaction whose answers interest nobody. */
  readonly sendForgotten: (request: Outgoing, flow: Flow) => void;
}

type MaybeFlow = Flow | undefined | Promise<Flow | undefined>;

/** What the application sent to open a dialog. */
export interface Opening {
  readonly method: string;
  readonly sent: Outgoing;
  readonly application: Application;
  readonly entry: EntryAddress;
  readonly contact: string;
}

interface SentAck {
  readonly sequence: number;
  readonly text: string;
  readonly flow: Flow;
}

/** What is to be done with an answer to a dialog-forming request. */
export type AnswerFate = 'tell' | 'swallow';

/** The dialogs that applications open, and what they send inside any dialog. */
export class ClientDialogs {
  readonly #environment: ClientDialogsEnvironment;
  readonly #acks = new WeakMap<Dialog, SentAck>();

  constructor(environment: ClientDialogsEnvironment) {
    this.#environment = environment;
  }

  get full(): boolean {
    return this.#environment.table.full;
  }

  /** The dialog an application names, if it is its own. */
  find(id: string, application: Application): Dialog | undefined {
    const dialog = this.#environment.table.byId(id);
    return dialog?.application === application ? dialog : undefined;
  }

  /** A SUBSCRIBE went out: its NOTIFY may come before its answer. */
  opening(id: string, opening: Opening): void {
    if (opening.method === 'SUBSCRIBE') this.#environment.table.add(dialogOf(id, opening));
  }

  /** An answer to a request that opens a dialog. `unwanted`: the application gave it up. */
  answered(id: string, opening: Opening, answer: SipMessage, from: Flow, unwanted: boolean): AnswerFate {
    const { table } = this.#environment;
    const { status } = answer;
    const known = table.byId(id);
    if (status >= 300) {
      if (known && !known.confirmed) table.remove(known);
      return 'tell';
    }
    const tag = tagOf(answer, 'to');
    if (status <= 100 || tag === undefined) return 'tell';
    if (status >= 200 && opening.method === 'INVITE') {
      if (known?.confirmed && known.remoteTag === tag) {
        this.#repeatAck(known, opening.sent.cseq);
        return 'swallow';
      }
      if (known?.confirmed || unwanted) {
        this.#release(dialogOf(id, opening), answer, from);
        if (known && !known.confirmed) table.remove(known);
        return 'swallow';
      }
    }
    // An earlier attempt with the same Call-ID and tag may have left an early dialog: this one has its own CSeq.
    const isOurs = known && (known.confirmed || known.inviteSequence === opening.sent.cseq);
    const dialog = isOurs ? known : dialogOf(id, opening);
    dialog.learnFromAnswer(answer, from);
    dialog.confirmed ||= status >= 200;
    if (!isOurs) table.add(dialog);
    return 'tell';
  }

  /** The request that was to open a dialog failed. */
  failed(id: string): void {
    const known = this.#environment.table.byId(id);
    if (known && !known.confirmed) this.#environment.table.remove(known);
  }

  /** An answer to a request of ours inside a dialog. */
  answeredInside(
    dialog: Dialog,
    sent: Outgoing,
    answer: SipMessage,
    from: Flow,
    isRepeated: boolean,
  ): AnswerFate {
    const { status } = answer;
    if (sent.method === 'INVITE' && status >= 200 && status < 300) {
      if (isRepeated) {
        this.#repeatAck(dialog, sent.cseq);
        return 'swallow';
      }
      dialog.refresh(answer, from);
    }
    // RFC 3261 §12.2.1.2: the other side does not know the dialog.
    if (status === 481) this.ended(dialog);
    return 'tell';
  }

  ended(dialog: Dialog): void {
    this.#environment.table.remove(dialog);
  }

  /** The flow of a request inside a dialog. */
  flowOf(dialog: Dialog): MaybeFlow {
    const uri = asSipUri(dialog.firstRoute === undefined ? dialog.remoteTarget : routeUri(dialog.firstRoute));
    return dialog.flow ?? (uri && this.#environment.flowTo(uri, { entry: dialog.entry }));
  }

  /** The ACK to the 2xx of our latest INVITE (RFC 3261 §13.2.2.4); kept, since the 2xx may come again. */
  acknowledge(dialog: Dialog, flow: Flow, lines: readonly Header[], body: string): Outgoing {
    const { inviteSequence } = dialog;
    const ack = this.build(dialog, 'ACK', flow, lines, body, inviteSequence);
    this.#acks.set(dialog, { sequence: inviteSequence, text: ack.text, flow });
    this.#environment.send(flow, ack.text);
    return ack;
  }

  build(
    dialog: Dialog,
    method: string,
    flow: Flow,
    lines: readonly Header[],
    body: string,
    sequence?: number,
    uri?: string,
  ): Outgoing {
    const branch = newBranch();
    const request = dialog.request(method, lines, sequence);
    return outgoing(
      { method, uri: uri ?? request.uri, branch, via: ownVia(flow, branch), body },
      request.headers,
    );
  }

  /** Ends a dialog with a BYE of the server's own, and tells its application. */
  hangUp(dialog: Dialog, reason: string): void {
    this.ended(dialog);
    const lines = [{ name: 'Reason', key: 'reason', value: `SIP ;cause=200 ;text="${reason}"` }];
    this.#withFlow(dialog, (flow) => {
      const bye = this.build(dialog, 'BYE', flow, lines, '');
      this.#environment.sendForgotten(bye, flow);
      const meta = metaTokens('application', bye.text.length, flow);
      dialog.application.tell(`sip|${meta}|unsolicited|${dialog.id}|\r\n${bye.text}`);
    });
  }

  #repeatAck(dialog: Dialog, sequence: number): void {
    const ack = this.#acks.get(dialog);
    if (ack?.sequence === sequence) this.#environment.send(ack.flow, ack.text);
  }

  /** Acknowledges a 2xx nobody wants, and hangs up. */
  #release(dialog: Dialog, answer: SipMessage, from: Flow): void {
    dialog.learnFromAnswer(answer, from);
    this.#withFlow(dialog, (flow) => {
      this.acknowledge(dialog, flow, [], '');
      this.#environment.sendForgotten(this.build(dialog, 'BYE', flow, [], ''), flow);
    });
  }

  #withFlow(dialog: Dialog, use: (flow: Flow) => void): void {
    const found = this.flowOf(dialog);
    if (found instanceof Promise) void found.then((flow) => flow && use(flow));
    else if (found) use(found);
  }
}

const routeUri = (route: string): string => bracketed(route) ?? route;

function dialogOf(id: string, opening: Opening): Dialog {
  const { sent, application, entry, contact, method } = opening;
  return new Dialog({
    id,
    callId: sent.callId,
    isSubscription: method === 'SUBSCRIBE',
    localTag: id.slice(id.lastIndexOf(';from-tag=') + ';from-tag='.length),
    localAddress: sent.from,
    remoteAddress: sent.to,
    remoteTag: undefined,
    localSequence: sent.cseq,
    remoteSequence: 0,
    localContact: contact,
    application,
    entry,
  });
}
