/** The states of an instance, in the order of their numbers on the wire (heartbeat/wire.ts). */
export const GROUP_STATES = ['INIT', 'STANDBY', 'ACTIVE', 'HANDOVER', 'RECHECK', 'FAULT', 'MAINT'] as const;
export type GroupStateName = (typeof GROUP_STATES)[number];

/** What a message says beside being a heartbeat, in the order of their numbers on the wire. */
export const MESSAGE_KINDS = ['BEAT', 'PREPARE', 'READY', 'RELINQUISH', 'YIELD'] as const;
export type MessageKind = (typeof MESSAGE_KINDS)[number];

/** Position of a message in the life of its sender; later messages compare greater. */
export interface MessageOrder {
  /** Start of the sending process: greater at every start. */
  readonly incarnation: number;
  /** Counts the messages of one incarnation. */
  readonly seq: number;
}

export function isLater(a: MessageOrder, b: MessageOrder): boolean {
  return a.incarnation > b.incarnation || (a.incarnation === b.incarnation && a.seq > b.seq);
}

/** One message of the group. Every kind carries the whole heartbeat, so that any of them keeps a peer alive. */
export interface GroupMessage extends MessageOrder {
  readonly kind: MessageKind;
  readonly from: string;
  /** Whom PREPARE, READY and RELINQUISH name; empty otherwise. All peers hear them. */
  readonly to: string;
  readonly state: GroupStateName;
  /** Term of the sender's last claim. */
  readonly term: number;
  /** Highest term the sender knows. */
  readonly highestTerm: number;
  /** How often the sender became active in this incarnation. */
  readonly tenure: number;
  /** Active service links; heartbeat links never count. */
  readonly links: number;
  readonly priority: number;
  /** RELINQUISH: the term that is handed over; 0 otherwise. */
  readonly grant: number;
  /** Last message heard of each peer. */
  readonly heard: Readonly<Record<string, MessageOrder>>;
}
