import { execFile } from 'node:child_process';
import type { Logger } from '../telemetry/logger';

/** A program that hangs is killed. */
const LIMIT_MS = 10_000;

/**
 * Runs the programs of `ha.on_active` and `ha.on_standby`. One at a time; when the state changes while one runs, the program
 * of the latest state follows. The group never waits for them, and their failure is only logged.
 */
export class TransitionPrograms {
  private wanted: 'active' | 'standby' | undefined;
  private running = false;

  constructor(
    private readonly programs: Readonly<Partial<Record<'active' | 'standby', readonly string[]>>>,
    private readonly log: Logger,
  ) {}

  /** This instance has the addresses now, or has them no more. */
  became(state: 'active' | 'standby'): void {
    this.wanted = state;
    if (!this.running) this.next();
  }

  private next(): void {
    const state = this.wanted;
    this.wanted = undefined;
    const [program, ...args] = (state === undefined ? undefined : this.programs[state]) ?? [];
    if (program === undefined) return;
    this.running = true;
    execFile(program, args, { timeout: LIMIT_MS, killSignal: 'SIGKILL' }, (error, _stdout, stderr) => {
      this.running = false;
      if (error === null) this.log.info({ state, program }, 'program for the new state done');
      else {
        const said = stderr.slice(0, 500);
        this.log.error({ err: error, state, program, stderr: said }, 'program for the new state failed');
      }
      this.next();
    });
  }
}
