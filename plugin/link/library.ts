import type { Socket } from 'node:net';
import type { SipFrame } from './control-message';
import type { Inbound } from './inbound-request';
import type { Agent } from './srf';

/** Why a request leaves the link's hands. */
export type Ending = 'cancelled' | 'answered' | 'proxied' | 'dropped';

/** What becomes of frames the link does not handle itself: the library, own or shared with other routes. */
export interface LibrarySide {
  readonly agent: Agent;
  readonly libraryText: 'latin1' | 'utf8';
  /** Whether a request of the network goes to the library's middleware (shared form) or straight to the link. */
  readonly shared: boolean;
  pass(socket: Socket, frame: Buffer): void;
  ownsDialog(socket: Socket, dialogId: string): boolean;
  /** A CANCEL or a final answer ended this request: the library's own entry for it goes too. */
  forget(request: Inbound, how: Ending): void;
  /** A CANCEL for a request that is not the link's. */
  cancel(socket: Socket, frame: SipFrame, raw: Buffer): void;
}
