import { spawn, type ChildProcess } from 'node:child_process';
import type { VipAddress } from '../ha/ports';
import { PACER_PREFERRED_S, PACER_VALID_S } from './lease-pacer';

/*
 * The kernel's timer for leases is a deferrable one: it does not wake an idle CPU. On a quiet machine the lease of a
 * killed process may so outlive its second by as long as that CPU finds nothing to do (measured: up to a second). Any
 * change of an address has the kernel look at once. So a shell waits for the end of this process, by a pipe that only
 * this process writes to, and then renews pacers many times a second until every lease must be over.
 */

/** A lease is a second, the kernel counts it over 20 ms early, and a renewal may have been under way. */
const WATCH_S = 1.3;
const EVERY_S = 0.04;

/** $1 addresses with their prefixes. Ends by itself; a service manager that ends what is left lets it. */
const SCRIPT = `
trap '' TERM HUP INT
cat > /dev/null
i=0
while [ $i -lt ${Math.round(WATCH_S / EVERY_S)} ]; do
  for a in $1; do ip address replace $a dev lo valid_lft ${PACER_VALID_S} preferred_lft ${PACER_PREFERRED_S}; done
  sleep ${EVERY_S}
  i=$((i + 1))
done`;

/** Has the kernel end the leases of a process that died, on an idle machine, too. */
export class LeaseGuard {
  #shell: ChildProcess | undefined;

  /** Resolves when the shell runs; rejects when it cannot. */
  async start(pacers: readonly VipAddress[]): Promise<void> {
    this.close();
    const addresses = pacers.map(({ address, family }) => `${address}/${family === 6 ? 128 : 32}`);
    const shell = spawn('/bin/sh', ['-c', SCRIPT, 'dsbc-lease-guard', addresses.join(' ')], {
      stdio: ['pipe', 'ignore', 'ignore'],
      // Of a process group of its own: what is sent to ours is not for it.
      detached: true,
    });
    this.#shell = shell;
    shell.stdin.on('error', () => undefined);
    shell.unref();
    await new Promise<void>((resolve, reject) => {
      shell.once('spawn', resolve);
      shell.once('error', reject);
    });
  }

  /** The leases were ended in order: there is nothing to guard. */
  close(): void {
    this.#shell?.kill('SIGKILL');
    this.#shell?.stdin?.destroy();
    this.#shell = undefined;
  }
}
