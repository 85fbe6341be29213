import type { AlarmName } from './group/effect';
import type { OperatorAction, WitnessReply } from './group/event';
import type { GroupStateName } from './group/message';
import type { PathStatistics, HeartbeatLink } from './heartbeat/statistics';
import type { Rejection } from './heartbeat/wire';
import type { RunnerNotice } from './runner';
import type { GroupSettings } from './settings';

/** What the worker is started with. */
export interface WorkerData {
  readonly settings: GroupSettings;
  /** Path of a module that exports `createNetwork` (ports.ts, NetworkModule). */
  readonly networkModule: string;
  readonly shared: SharedArrayBuffer;
  readonly incarnation: number;
  /** Whether main is asked to `settle` before a planned removal of the addresses. */
  readonly settles: boolean;
}

export type ToWorker =
  | { readonly type: 'sip'; readonly healthy: boolean }
  | {
      readonly type: 'operator';
      readonly request: number;
      readonly action: OperatorAction;
      readonly to: string;
    }
  | { readonly type: 'quiet' }
  | { readonly type: 'refresh' }
  | { readonly type: 'settled' }
  | { readonly type: 'witness'; readonly id: number; readonly reply: WitnessReply }
  | { readonly type: 'status'; readonly request: number }
  | { readonly type: 'close' };

/** An alarm of the paths to the peers; those of the machine are effects. */
export interface PathAlarm {
  readonly name: AlarmName | 'link_lost';
  readonly about: string;
}

/** One peer as this instance sees it. */
export interface PeerStatus {
  readonly instance: string;
  readonly state: GroupStateName | 'unheard';
  /** Milliseconds since it was heard; Infinity: never. */
  readonly age: number;
  readonly links: number;
  readonly priority: number;
  readonly term: number;
  readonly paths: Readonly<Partial<Record<HeartbeatLink, PathStatistics>>>;
}

/** The group as this instance sees it. */
export interface GroupStatus {
  readonly instance: string;
  readonly state: GroupStateName;
  /** Milliseconds in this state. */
  readonly age: number;
  readonly reason: string;
  readonly term: number;
  readonly holding: boolean;
  readonly links: number;
  readonly sipHealthy: boolean;
  readonly priority: number;
  readonly peers: readonly PeerStatus[];
  readonly alarms: readonly PathAlarm[];
  /** Heartbeats that were refused, by reason. */
  readonly rejected: Readonly<Record<Rejection, number>>;
  /** Which implementation sets addresses and announces. */
  readonly network: 'native' | 'iproute2';
  readonly witness: { readonly owner: string; readonly heldForMs: number } | undefined;
}

export type FromWorker =
  | { readonly type: 'ready'; readonly network: 'native' | 'iproute2' }
  | { readonly type: 'failed'; readonly message: string; readonly code: string | undefined }
  /** `at`: when it happened (CLOCK_MONOTONIC, milliseconds); main may have been blocked meanwhile. */
  | { readonly type: 'notice'; readonly notice: RunnerNotice; readonly term: number; readonly at: number }
  | { readonly type: 'settle'; readonly limitMs: number }
  | { readonly type: 'leader'; readonly instance: string }
  | { readonly type: 'path-alarm'; readonly alarm: PathAlarm; readonly on: boolean }
  | { readonly type: 'status'; readonly request: number; readonly status: GroupStatus }
  | {
      readonly type: 'log';
      readonly level: 'debug' | 'info' | 'warn' | 'error';
      readonly fields: object;
      readonly message: string | undefined;
    }
  | { readonly type: 'closed' };
