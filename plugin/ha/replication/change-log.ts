import type { Change } from './topic';

/** The latest changes, so that a follower that was away for a moment goes on where it was. Oldest are forgotten. */
export class ChangeLog {
  private readonly changes: Change[] = [];
  private head = 0;
  private first = 0;

  constructor(private readonly limit: number) {}

  /** Sequence of the latest change; 0: there was none. */
  get last(): number {
    return this.head;
  }

  add(topic: string, record: unknown): void {
    this.head += 1;
    this.changes.push([this.head, topic, record]);
    // Shifting one at a time would cost a copy each: let it grow to twice the limit, then cut.
    if (this.changes.length - this.first > this.limit) this.first += 1;
    if (this.first >= this.limit) {
      this.changes.splice(0, this.first);
      this.first = 0;
    }
  }

  /** Up to `count` changes behind `seq`; undefined when they are forgotten. */
  after(seq: number, count: number): readonly Change[] | undefined {
    if (seq >= this.head) return seq === this.head ? [] : undefined;
    const oldest = this.changes[this.first];
    if (oldest === undefined || oldest[0] > seq + 1) return undefined;
    const from = this.first + (seq + 1 - oldest[0]);
    return this.changes.slice(from, from + count);
  }
}
