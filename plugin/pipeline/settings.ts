import type { Config } from '../config/types';
import type { Snapshot } from '../routing/snapshot';

/** What a reload swaps: one request sees one of these from beginning to end. */
export interface Settings {
  readonly config: Config;
  readonly snapshot: Snapshot;
}
