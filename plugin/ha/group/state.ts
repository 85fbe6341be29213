import type { WitnessRow } from '../ports';
import type { AlarmName } from './effect';
import type { GroupStateName, MessageOrder } from './message';
import type { Timing } from './timing';

/** When a peer of higher priority gets the addresses back: never, or after it was fit for this long. */
export type Preemption = 'never' | { readonly delayMs: number };

export const WITNESS_MODES = ['none', 'strict', 'failsafe'] as const;
/**
 * What to do without the witness. `strict`: give up the addresses. `failsafe`: keep them while every peer
 * acknowledges that it hears us. `none`: there is no witness.
 */
export type WitnessMode = (typeof WITNESS_MODES)[number];

/** What does not change while an instance runs. */
export interface GroupConfig {
  readonly id: string;
  /** The other instances. */
  readonly peers: readonly string[];
  /** Higher is better; equal is fine, the id breaks the tie. */
  readonly priority: number;
  readonly timing: Timing;
  readonly preemption: Preemption;
  readonly witness: WitnessMode;
  /** How long a planned hand-over lets in-flight work finish before it starts. */
  readonly drainMs: number;
}

/** What we know of a peer from its last message. */
export interface PeerView extends MessageOrder {
  readonly state: GroupStateName;
  /** It has the addresses: active, or handing over and not yet let go. */
  readonly holding: boolean;
  readonly term: number;
  readonly tenure: number;
  readonly links: number;
  readonly priority: number;
  /** -Infinity: never. */
  readonly heardAt: number;
  /** Since when it has been heard without a gap. */
  readonly reachableSince: number;
  /** When we sent the last message that it says it heard; -Infinity: none of this incarnation. */
  readonly heardMeAt: number;
  /** The same for messages we sent while holding the addresses. */
  readonly heardMeHoldingAt: number;
}

export const UNHEARD: PeerView = {
  incarnation: -1,
  seq: -1,
  state: 'INIT',
  holding: false,
  term: 0,
  tenure: 0,
  links: 0,
  priority: 0,
  heardAt: -Infinity,
  reachableSince: -Infinity,
  heardMeAt: -Infinity,
  heardMeHoldingAt: -Infinity,
};

/** A hand-over on its way. */
export interface Handover {
  readonly target: string;
  readonly reason: string;
  /** Request of an operator to answer; 0: nobody asked. */
  readonly request: number;
  /** What this instance becomes afterwards. */
  readonly then: 'standby' | 'maintenance' | 'leave';
  /**
   * drain: in-flight work ends; prepare: PREPARE is sent; transfer: the witness row is being given to the target;
   * relinquish: the addresses are gone.
   */
  readonly phase: 'drain' | 'prepare' | 'transfer' | 'relinquish';
  readonly deadline: number;
  /** When RELINQUISH is sent again. */
  readonly repeats: readonly number[];
  /** Those that did not answer. */
  readonly tried: readonly string[];
  /** Only this target will do: an operator named it, or it was better when it was chosen. */
  readonly only: boolean;
  readonly grant: number;
}

export interface WitnessPending {
  readonly id: number;
  readonly operation: 'read' | 'claim' | 'renew' | 'transfer' | 'release';
  readonly sentAt: number;
  readonly next: WitnessRow | undefined;
}

/** What we know of the witness row. */
export interface WitnessView {
  /** `undefined`: not read yet; `null`: there is none. */
  readonly row: WitnessRow | null | undefined;
  /** When we first saw this row. */
  readonly seenAt: number;
  /** Until when the row protects us. */
  readonly heldUntil: number;
  readonly pending: WitnessPending | undefined;
  readonly nextPollAt: number;
  /** Last answer of any kind. */
  readonly answeredAt: number;
  readonly lastId: number;
}

/** Why an instance cannot have the addresses although it is well: an alarm while it lasts. */
export interface Obstacle {
  readonly alarm: AlarmName;
  readonly about: string;
  readonly reason: string;
}

/** Another instance that has our name, as of its latest message. */
export interface Twin extends MessageOrder {
  readonly name: GroupStateName;
  readonly address: string;
  /** When it last said that it hears us; -Infinity: never. */
  readonly provenAt: number;
}

/** Everything an instance remembers. Times are boot-clock milliseconds. */
export interface GroupState {
  name: GroupStateName;
  since: number;
  reason: string;
  incarnation: number;
  seq: number;
  /** Term of our last claim. */
  term: number;
  highestTerm: number;
  tenure: number;
  peers: Readonly<Record<string, PeerView>>;
  /** Our latest messages, oldest first, to know what an acknowledgement is worth. */
  sent: readonly { readonly seq: number; readonly at: number; readonly holding: boolean }[];
  links: number;
  sip: boolean;
  /** A heartbeat link is open: silence means something. */
  hears: boolean;
  mainBeatAt: number;
  obstacles: readonly Obstacle[];
  twin: Twin | undefined;
  /** Since when we could serve; Infinity: we can't. */
  fitSince: number;
  maintenance: boolean;
  leaving: boolean;
  lastBeatAt: number;
  nextBeatAt: number;
  /** When absent peers are tried next. */
  nextProbeAt: number;
  /** The addresses are ours: added, not removed. */
  holding: boolean;
  leasedUntil: number;
  announceAt: readonly number[];
  refreshAt: number;
  lastForeignArpAt: number;
  /** When that was last answered by announcements. */
  foreignArpAnsweredAt: number;
  /** INIT and RECHECK end then. */
  listenUntil: number;
  /** No claim before, since a hand-over to somebody else is on its way. */
  claimHeldUntil: number;
  /** Our last READY. */
  ready: { readonly to: string; readonly at: number } | undefined;
  handover: Handover | undefined;
  /** Since when a peer has been strictly better, and whether by links or by priority. */
  better: { readonly by: 'links' | 'priority'; readonly since: number } | undefined;
  /** Planned switches of the group that we saw. */
  switches: readonly number[];
  lastGrant: number;
  lastSwitchAt: number;
  lockedUntil: number;
  /** After a hand-over that nobody answered, none of our own accord before. */
  retryAt: number;
  witness: WitnessView;
  /** A stall was noticed: decisions wait until what queued meanwhile has been read. */
  draining: boolean;
  drainAskedAt: number;
  /** When the next `timer` event is due. */
  due: number;
  alarms: readonly string[];
}

/**
 * The state of an instance that starts now.
 * @param incarnation greater than at any earlier start; peers that know a greater one make the machine skip past it
 */
export function initialState(config: GroupConfig, now: number, incarnation: number): GroupState {
  return {
    name: 'INIT',
    since: now,
    reason: 'started',
    incarnation,
    seq: 0,
    term: 0,
    highestTerm: 0,
    tenure: 0,
    peers: Object.fromEntries(config.peers.map((id) => [id, UNHEARD])),
    sent: [],
    links: 0,
    sip: false,
    hears: true,
    mainBeatAt: now,
    obstacles: [],
    twin: undefined,
    fitSince: Infinity,
    maintenance: false,
    leaving: false,
    lastBeatAt: now,
    nextBeatAt: now,
    nextProbeAt: now + config.timing.probe,
    holding: false,
    leasedUntil: -Infinity,
    announceAt: [],
    refreshAt: Infinity,
    lastForeignArpAt: -Infinity,
    foreignArpAnsweredAt: -Infinity,
    listenUntil: now + config.timing.listen,
    claimHeldUntil: now,
    ready: undefined,
    handover: undefined,
    better: undefined,
    switches: [],
    lastGrant: 0,
    lastSwitchAt: -Infinity,
    lockedUntil: -Infinity,
    retryAt: -Infinity,
    witness: {
      row: undefined,
      seenAt: now,
      heldUntil: -Infinity,
      pending: undefined,
      nextPollAt: now,
      answeredAt: now,
      lastId: 0,
    },
    draining: false,
    drainAskedAt: -Infinity,
    due: now,
    alarms: [],
  };
}
