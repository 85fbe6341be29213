import { setTimeout as pause } from 'node:timers/promises';
import type { WitnessReply } from '../group/event';
import type { WitnessRow, WitnessStore } from '../ports';

/** What fails at once (nothing is connected) is told after this share of the limit: told at once it would be asked again at once, for ever. */
const FAILURE_SHARE = 0.2;
const UNKNOWN: WitnessReply = { type: 'unknown' };

/** Carries the machine's questions to the witness store: one answer each, `unknown` after the limit or an error. */
export class WitnessClient {
  private closed = false;

  constructor(
    private readonly store: WitnessStore,
    private readonly group: string,
    private readonly limitMs: number,
    private readonly onReply: (id: number, reply: WitnessReply) => void,
  ) {}

  read(id: number): void {
    this.answer(
      id,
      this.store.read(this.group).then((row): WitnessReply => ({ type: 'row', row })),
    );
  }

  write(id: number, expected: WitnessRow | null, next: WitnessRow): void {
    const key = expected === null ? null : { term: expected.term, seq: expected.seq };
    this.answer(
      id,
      this.store
        .compareAndSet(this.group, key, next)
        .then(({ applied, current }): WitnessReply =>
          applied ? { type: 'applied' } : { type: 'not-applied', row: current },
        ),
    );
  }

  close(): void {
    this.closed = true;
  }

  private answer(id: number, reply: Promise<WitnessReply>): void {
    let timer: NodeJS.Timeout | undefined;
    const limit = new Promise<WitnessReply>((resolve) => {
      timer = setTimeout(() => resolve(UNKNOWN), this.limitMs);
    });
    const failure = (): Promise<WitnessReply> => pause(this.limitMs * FAILURE_SHARE, UNKNOWN, { ref: false });
    void Promise.race([reply.catch(failure), limit]).then((outcome) => {
      clearTimeout(timer);
      if (!this.closed) this.onReply(id, outcome);
    });
  }
}
