/**
 * Something standbys need (bindings, cache drops, operator states), as records of JSON. Applying a record twice, or one
 * that is older than what is there, must do no harm: after a break a record may come again.
 */
export interface ReplicatedTopic {
  readonly name: string;
  /** Everything a standby needs now, piece by piece; it is read bit by bit while changes go on. */
  snapshot(): Iterable<unknown>;
  /** Takes in a record of the active. */
  apply(record: unknown): void;
  /** A whole snapshot follows: what is not in it is over. */
  reset?(): void;
}

/** One change in the order of its stream: sequence, topic, record. */
export type Change = readonly [seq: number, topic: string, record: unknown];

/** First frame of a follower. */
export interface Follow {
  readonly instance: string;
  /** Up to where it has applied which stream. */
  readonly stream: string;
  readonly seq: number;
}

/** Frames of the source. */
export type SourceFrame =
  /** A snapshot begins; the changes behind it go on after `seq`. */
  | { readonly type: 'snapshot'; readonly stream: string; readonly seq: number }
  | { readonly type: 'records'; readonly records: readonly (readonly [topic: string, record: unknown])[] }
  | { readonly type: 'complete' }
  | { readonly type: 'changes'; readonly stream: string; readonly changes: readonly Change[] }
  | { readonly type: 'idle' };
