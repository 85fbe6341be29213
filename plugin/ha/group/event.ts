import type { WitnessRow } from '../ports';
import type { GroupMessage } from './message';
import type { Obstacle } from './state';

/** Why the group does what an operator asked, or why it does not. */
export type OperatorAction = 'handover' | 'maintenance-on' | 'maintenance-off' | 'terminate';

export type WitnessReply =
  | { readonly type: 'row'; readonly row: WitnessRow | null }
  | { readonly type: 'applied' }
  | { readonly type: 'not-applied'; readonly row: WitnessRow | null }
  /** Time-out or error: the write may or may not happen. */
  | { readonly type: 'unknown' };

/** Everything that can happen to an instance. Times are boot-clock milliseconds. */
export type GroupEvent =
  /** The deadline of the last step has come (perhaps late). */
  | { readonly type: 'timer' }
  /** What waited in the sockets has been read, as the effect `drain` asked. */
  | { readonly type: 'drained' }
  | { readonly type: 'message'; readonly message: GroupMessage }
  /** A message under our own name that another life sent, from `address`. */
  | { readonly type: 'twin'; readonly message: GroupMessage; readonly address: string }
  /** Whether any heartbeat link is open. Until this is said, there is one. */
  | { readonly type: 'hearing'; readonly on: boolean }
  /** Last sign of life of the main thread. */
  | { readonly type: 'main'; readonly beatAt: number }
  /** Number of active service links. */
  | { readonly type: 'links'; readonly active: number }
  /** The SIP server is connected and answers. */
  | { readonly type: 'sip'; readonly healthy: boolean }
  /** An address is gone that we did not remove, or could not be renewed. */
  | { readonly type: 'vip-lost'; readonly reason?: string }
  /** Something that keeps this instance from having the addresses has come, or has gone. */
  | { readonly type: 'obstacle'; readonly obstacle: Obstacle; readonly on: boolean }
  /** An announcement of our addresses by somebody else. */
  | { readonly type: 'foreign-arp' }
  /** A service link came (back) up: what was announced before may not have left. */
  | { readonly type: 'carrier-up' }
  | {
      readonly type: 'operator';
      readonly request: number;
      readonly action: OperatorAction;
      /** Target of a hand-over; empty: the best standby. */
      readonly to: string;
    }
  /** The main thread has drained what must finish before the addresses go. */
  | { readonly type: 'quiet' }
  | { readonly type: 'witness'; readonly id: number; readonly reply: WitnessReply };
