import type { SipMessage } from '../../message/sip-message';
import type { Application } from '../control/application';
import { tagOf, type Dialog } from './dialog';

const key = (callId: string, localTag: string): string => `${callId}\n${localTag}`;

/** The dialogs of all applications. */
export class DialogTable {
  readonly #limit: number;
  readonly #byId = new Map<string, Dialog>();
  readonly #byTag = new Map<string, Dialog>();

  constructor(limit: number) {
    this.#limit = limit;
  }

  get count(): number {
    return this.#byId.size;
  }

  get full(): boolean {
    return this.#byId.size >= this.#limit;
  }

  add(dialog: Dialog): void {
    this.#byId.set(dialog.id, dialog);
    this.#byTag.set(key(dialog.callId, dialog.localTag), dialog);
  }

  remove(dialog: Dialog): void {
    if (this.#byId.get(dialog.id) === dialog) this.#byId.delete(dialog.id);
    const byTag = key(dialog.callId, dialog.localTag);
    if (this.#byTag.get(byTag) === dialog) this.#byTag.delete(byTag);
  }

  byId(id: string): Dialog | undefined {
    return this.#byId.get(id);
  }

  /** The dialog a request of the network belongs to (RFC 3261 §12.2.2). */
  of(request: SipMessage): Dialog | undefined {
    const localTag = tagOf(request, 'to');
    if (localTag === undefined || request.callId === undefined) return undefined;
    const dialog = this.#byTag.get(key(request.callId, localTag));
    if (!dialog) return undefined;
    const unknownYet = dialog.remoteTag === undefined || !dialog.confirmed;
    return unknownYet || dialog.remoteTag === tagOf(request, 'from') ? dialog : undefined;
  }

  removeAll(application: Application): void {
    for (const dialog of [...this.#byId.values()])
      if (dialog.application === application) this.remove(dialog);
  }
}
