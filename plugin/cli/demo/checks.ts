/** One expectation of the demo and whether it held. */
export interface Check {
  readonly name: string;
  readonly ok: boolean;
  /** What was seen, for whoever reads a failure. */
  readonly detail: string;
}

/** Collects the demo's expectations; each is told as soon as it is known. */
export class Checks {
  readonly all: Check[] = [];

  constructor(private readonly tell: (check: Check) => void) {}

  expect(name: string, ok: boolean, detail: string): void {
    const check = { name, ok, detail };
    this.all.push(check);
    this.tell(check);
  }

  /** All statuses are as wanted; the detail counts what came instead. */
  statuses(name: string, statuses: readonly number[], wanted: number): void {
    const counts = new Map<number, number>();
    for (const status of statuses) counts.set(status, (counts.get(status) ?? 0) + 1);
    const seen = [...counts].map(([status, count]) => `${count} × ${status}`).join(', ');
    this.expect(name, statuses.length > 0 && statuses.every((status) => status === wanted), seen);
  }

  get passed(): boolean {
    return this.all.length > 0 && this.all.every((check) => check.ok);
  }
}
