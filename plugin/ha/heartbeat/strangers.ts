import { isLater, type GroupMessage, type MessageOrder } from '../group/message';
import type { HeartbeatLink } from './statistics';

/** Where an instance sent from that we do not list. */
export interface StrangerPath {
  readonly id: string;
  readonly link: HeartbeatLink;
  readonly host: string;
  readonly port: number;
}

/** Of our heartbeats go back for one that came: a second one, for it to hear at once what happens between two of its own. */
const ANSWERS = 2;
/** What they may add up to. */
const MOST_ANSWERS = 4;

/**
 * Instances that are not listed, but have the key and the name of the group: a third that the others do not know yet. They
 * count for nothing here. Our own heartbeats go to them as well, lest they take the addresses beside an active that they can't hear.
 * Never more than twice what came; what is recorded and sent again, from wherever, is answered to nobody.
 */
export class Strangers {
  private readonly paths = new Map<string, StrangerPath & { order: MessageOrder; answers: number }>();
  private readonly heardAt = new Map<string, number>();

  /** A message that the key of the group made. */
  heard(message: GroupMessage, from: Omit<StrangerPath, 'id'>, now: number): void {
    const key = `${from.link} ${message.from}`;
    const before = this.paths.get(key);
    if (before !== undefined && !isLater(message, before.order)) return;
    const answers = Math.min((before?.answers ?? 0) + ANSWERS, MOST_ANSWERS);
    const { incarnation, seq } = message;
    this.paths.set(key, { ...from, id: message.from, order: { incarnation, seq }, answers });
    this.heardAt.set(message.from, now);
  }

  /** Where a heartbeat of ours goes now. */
  toAnswer(): readonly StrangerPath[] {
    const due = [...this.paths.values()].filter(({ answers }) => answers > 0);
    for (const path of due) path.answers -= 1;
    return due;
  }

  /** Names of those heard within `forMs`. */
  lately(now: number, forMs: number): readonly string[] {
    return [...this.heardAt].flatMap(([id, at]) => (now - at < forMs ? [id] : []));
  }
}
