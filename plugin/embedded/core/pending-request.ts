import type { Timer } from '../clock';
import type { Application } from '../control/application';
import type { ProxySearch } from '../proxy/proxy-search';
import type { ServerTransaction } from '../transaction/server-transaction';

/** A request that an application has to answer or proxy. */
export interface PendingRequest {
  readonly id: string;
  readonly transaction: ServerTransaction;
  readonly application: Application;
  /** The dialog it belongs to; empty outside of any. */
  readonly dialogId: string;
  /** Ends the wait for the application. */
  patience: Timer | undefined;
  /** Sends the 100 of an INVITE for which nobody has done anything yet. */
  trying: Timer | undefined;
  /** Set once the application proxied it. */
  search: ProxySearch | undefined;
  /** The tag of To that the application chose; else the transaction's. */
  tag: string | undefined;
  /** RSeq of the latest reliable provisional answer (RFC 3262); 0 when there was none. */
  reliableSequence: number;
  /** Undoes what provisional answers opened, should no 2xx follow. */
  undoEarly: (() => void) | undefined;
}
