import { setTimeout as pause } from 'node:timers/promises';

/** How long a request takes from the socket of the SIP server to us, and from us to its socket, with room to spare; ms. */
const ON_ITS_WAY_HERE_MS = 8;
const ON_ITS_WAY_OUT_MS = 2;

export interface HandOverParts {
  readonly admission: {
    setMode(mode: 'handing_over'): void;
    /** Resolves when none of these is under way, at the latest after so many milliseconds. */
    idle(limitMs: number, of: readonly ('ours' | 'late')[]): Promise<boolean>;
  };
  /** Proxied requests go to the SIP server at once from now on, those that are being held back too. */
  readonly hurry: () => void;
  /** Answers what is not on its way and would be sent again by nobody. */
  readonly refuseUndecided: () => Promise<void>;
}

/** What an instance does with requests before it gives the addresses to another one. */
export class HandOver {
  constructor(private readonly parts: HandOverParts) {}

  /**
   * Begins it, and waits for what would end with us, at most `limitMs`. What comes now and would end with us is met with silence:
   * its retransmission finds the instance that takes over. Bridged calls that ring now are not waited for: they ring for longer
   * than anybody should be kept from registering.
   */
  async quiesce(limitMs: number): Promise<void> {
    this.begin();
    await this.parts.admission.idle(limitMs, ['ours']);
  }

  /**
   * Nothing comes in any more: waits until what has come is on its way, in at most `limitMs`. What is not by then, because the
   * registry or a hook holds it, is refused.
   */
  async settle(limitMs: number): Promise<void> {
    // Not every hand-over waits for what is under way first.
    this.begin();
    await pause(Math.min(ON_ITS_WAY_HERE_MS, limitMs / 2));
    await this.parts.admission.idle(limitMs / 4, ['ours', 'late']);
    await this.parts.refuseUndecided();
    await pause(ON_ITS_WAY_OUT_MS);
  }

  private begin(): void {
    this.parts.admission.setMode('handing_over');
    this.parts.hurry();
  }
}
