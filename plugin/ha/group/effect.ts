import type { WitnessRow } from '../ports';
import type { GroupMessage, GroupStateName } from './message';

/** What operators are told while it lasts (docs/ha.md explains each). */
export const ALARMS = [
  'split_brain',
  'peer_lost',
  'one_way',
  'degraded',
  'planned_locked',
  'witness_unknown',
  'main_stalled',
  'not_permitted',
  'duplicate_name',
  'wrong_key',
  'vip_foreign',
  'deaf',
  'unlisted',
] as const;
export type AlarmName = (typeof ALARMS)[number];

/** What the core wants done, in this order. */
export type GroupEffect =
  /** Add the addresses under a lease. */
  | { readonly type: 'add' }
  /** Renew the lease; comes before the heartbeat of the same beat, so that peers never outwait a lease they cannot see. */
  | { readonly type: 'renew' }
  /** `settles`: they go to a peer that waits for them; what was received may go on its way first. */
  | { readonly type: 'remove'; readonly settles: boolean }
  | { readonly type: 'announce' }
  /** To every peer, or to those named. */
  | { readonly type: 'send'; readonly message: GroupMessage; readonly to: readonly string[] }
  /** Read what waits in the sockets, then give the event `drained`. */
  | { readonly type: 'drain' }
  /** Let in-flight work end, then give the event `quiet`; the core waits only until the deadline. */
  | { readonly type: 'quiesce'; readonly deadline: number }
  /** Throw away SIP that queued while this process did not run. */
  | { readonly type: 'discard' }
  | {
      readonly type: 'state';
      readonly from: GroupStateName;
      readonly to: GroupStateName;
      readonly reason: string;
    }
  | { readonly type: 'alarm'; readonly name: AlarmName; readonly on: boolean; readonly about: string }
  | { readonly type: 'answer'; readonly request: number; readonly done: boolean; readonly reason: string }
  | { readonly type: 'witness-read'; readonly id: number }
  | {
      readonly type: 'witness-write';
      readonly id: number;
      readonly expected: WitnessRow | null;
      readonly next: WitnessRow;
    };
