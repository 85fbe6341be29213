import type { WitnessReply } from '../group/event';
import type { WitnessRow, WitnessStore } from '../ports';

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
      timer = setTimeout(() => resolve({ type: 'unknown' }), this.limitMs);
    });
    void Promise.race([reply.catch((): WitnessReply => ({ type: 'unknown' })), limit]).then((outcome) => {
      clearTimeout(timer);
      if (!this.closed) this.onReply(id, outcome);
    });
  }
}
