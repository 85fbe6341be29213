import type { Logger } from '../telemetry/logger';

/** A failure that goes on is said again after so long. */
const AGAIN_MS = 60_000;

/** Says a failure that repeats itself once, then rarely, with how often it came in between. */
export class RepeatedFailures {
  private readonly said = new Map<string, { at: number; since: number }>();

  constructor(
    private readonly log: Logger,
    private readonly now: () => number,
  ) {}

  failed(operation: string, fields: object, message: string): void {
    const before = this.said.get(operation);
    if (before !== undefined && this.now() - before.at < AGAIN_MS) {
      before.since += 1;
      return;
    }
    this.log.error({ ...fields, operation, repeated: before?.since ?? 0 }, message);
    this.said.set(operation, { at: this.now(), since: 0 });
  }

  /** It worked: the next failure is a new one. */
  worked(operation: string): void {
    this.said.delete(operation);
  }
}
