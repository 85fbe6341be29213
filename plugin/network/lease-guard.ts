import { spawn, type ChildProcess } from 'node:child_process';
import type { VipAddress } from '../ha/ports';
import { PACER_PREFERRED_S, PACER_VALID_S } from './lease-pacer';

/*
 * A shell that outlives a killed process and does two things for it.
 *
 * It removes the addresses that the process had, at once: until they are gone a SIP server that lives on answers 503 from
 * them, and what is answered is not repeated to the instance that takes over.
 *
 * It has the kernel look at leases. The kernel's timer for them is a deferrable one: it does not wake an idle CPU, so on
 * a quiet machine the lease of a killed process may outlive its second by as long as that CPU finds nothing to do
 * (measured: up to a second). Any change of an address has the kernel look at once, so the shell renews pacers many times
 * a second until every lease must be over.
 *
 * It waits for the end of the process by a pipe that only this process writes to: a line for each change of what it has.
 */

/** A lease is a second, the kernel counts it over 20 ms early, and a renewal may have been under way. */
const WATCH_S = 1.3;
const EVERY_S = 0.04;

/** $1 pacers with their prefixes; a line is `address/prefix@interface …`. Ends by itself; a service manager that ends what is left lets it. */
const SCRIPT = `
trap '' TERM HUP INT
held=
while read -r line; do held=$line; done
for each in $held; do echo "address del \${each%%@*} dev \${each#*@}"; done | ip -force -batch -
i=0
[ -z "$1" ] || while [ $i -lt ${Math.round(WATCH_S / EVERY_S)} ]; do
  for a in $1; do ip address replace $a dev lo valid_lft ${PACER_VALID_S} preferred_lft ${PACER_PREFERRED_S}; done
  sleep ${EVERY_S}
  i=$((i + 1))
done`;

const prefixOf = ({ address, family }: VipAddress): string => `${address}/${family === 6 ? 128 : 32}`;

/** Has the addresses of a process that died removed: by a command, and where that fails by the kernel, on an idle machine, too. */
export class LeaseGuard {
  readonly #held = new Set<string>();
  #shell: ChildProcess | undefined;

  /** Resolves when the shell runs; rejects when it cannot. Without pacers it only removes addresses. */
  async start(pacers: readonly VipAddress[]): Promise<void> {
    this.close();
    const shell = spawn('/bin/sh', ['-c', SCRIPT, 'dsbc-lease-guard', pacers.map(prefixOf).join(' ')], {
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
    this.#tell();
  }

  /** The process has these addresses, or is about to. */
  hold(addresses: readonly VipAddress[]): void {
    const before = this.#held.size;
    for (const vip of addresses) this.#held.add(`${prefixOf(vip)}@${vip.interface}`);
    if (this.#held.size !== before) this.#tell();
  }

  /** It has them no more: whoever has them now keeps them. */
  release(addresses: readonly VipAddress[]): void {
    let changed = false;
    for (const vip of addresses) changed = this.#held.delete(`${prefixOf(vip)}@${vip.interface}`) || changed;
    if (changed) this.#tell();
  }

  /** The leases were ended in order: there is nothing to guard. */
  close(): void {
    this.#shell?.kill('SIGKILL');
    this.#shell?.stdin?.destroy();
    this.#shell = undefined;
  }

  #tell(): void {
    this.#shell?.stdin?.write(`${[...this.#held].join(' ')}\n`);
  }
}
