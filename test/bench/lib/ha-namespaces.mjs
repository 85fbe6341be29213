// Two instances and a client in network namespaces, for benches of the group. Root and iproute2 are needed.
import { execFileSync, spawn } from 'node:child_process';

export const now = () => Number(process.hrtime.bigint()) / 1e6;
export const pause = (ms) => new Promise((resolve) => setTimeout(resolve, ms));
export const VIP = '198.51.100.10';

export const median = (values) => {
  const sorted = [...values].sort((a, b) => a - b);
  return sorted[Math.floor(sorted.length / 2)];
};

/** A program in a namespace whose output lines are kept with `waitFor`. */
class Program {
  constructor(namespace, argv) {
    this.child = spawn('nsenter', [`--net=/run/netns/${namespace}`, '--', ...argv], {
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    this.output = '';
    for (const stream of [this.child.stdout, this.child.stderr])
      stream.on('data', (chunk) => (this.output += chunk));
    this.child.stdin.on('error', () => undefined);
  }

  async waitFor(pattern, withinMs = 15_000) {
    const until = now() + withinMs;
    for (;;) {
      const found = pattern.exec(this.output);
      if (found !== null) return found;
      if (now() > until || this.child.exitCode !== null) {
        throw new Error(`no ${pattern} in:\n${this.output.slice(-2000)}`);
      }
      await pause(5);
    }
  }

  write(value) {
    this.child.stdin.write(`${JSON.stringify(value)}\n`);
  }

  async kill(signal = 'SIGKILL') {
    if (this.child.exitCode !== null || this.child.signalCode !== null) return;
    const gone = new Promise((resolve) => this.child.once('exit', resolve));
    this.child.kill(signal);
    await gone;
  }
}

export class Namespaces {
  #prefix = `dsbcbench${process.pid}`;
  #names = [];
  #programs = [];
  #reports = 0;

  constructor() {
    for (const name of ['sw', 'a', 'b', 'client']) this.#add(name);
    const ip = (...lines) =>
      execFileSync('ip', ['-n', this.name('sw'), '-batch', '-'], { input: `${lines.join('\n')}\n` });
    for (const [network, prefix] of [
      ['service', '198.51.100'],
      ['m1', '10.1.0'],
      ['m2', '10.2.0'],
    ]) {
      ip(
        `link add ${network} type bridge stp_state 0 forward_delay 0 mcast_snooping 0`,
        `link set ${network} up`,
      );
      for (const [host, number] of [
        ['a', 1],
        ['b', 2],
        ['client', 100],
      ]) {
        if (host === 'client' && network !== 'service') continue;
        ip(
          `link add ${network}-${host} type veth peer name ${network} netns ${this.name(host)}`,
          `link set ${network}-${host} master ${network} up`,
        );
        execFileSync('ip', ['-n', this.name(host), '-batch', '-'], {
          input: `link set ${network} up\naddress add ${prefix}.${number}/24 dev ${network}\n`,
        });
      }
    }
    for (const host of ['a', 'b']) {
      execFileSync('ip', ['netns', 'exec', this.name(host), 'sysctl', '-qw', 'net.ipv4.ip_nonlocal_bind=1']);
    }
  }

  name(host) {
    return `${this.#prefix}${host}`;
  }

  #add(host) {
    execFileSync('ip', ['netns', 'add', this.name(host)]);
    this.#names.push(this.name(host));
    execFileSync('ip', ['-n', this.name(host), 'link', 'set', 'lo', 'up']);
  }

  start(host, ...argv) {
    const program = new Program(this.name(host), argv);
    this.#programs.push(program);
    return program;
  }

  ip(host, ...args) {
    return execFileSync('ip', ['-n', this.name(host), ...args], { encoding: 'utf8', stdio: 'pipe' });
  }

  /** Asks a client (client-process.cjs) what it has seen since a time. */
  async sight(client, since) {
    const id = (this.#reports += 1);
    client.write({ id, since });
    return JSON.parse((await client.waitFor(new RegExp(`\\{"id":${id},.*\\}`)))[0]);
  }

  async close() {
    for (const program of this.#programs) await program.kill();
    for (const name of this.#names) {
      for (const pid of execFileSync('ip', ['netns', 'pids', name], { encoding: 'utf8' }).split('\n')) {
        if (pid !== '') process.kill(Number(pid), 'SIGKILL');
      }
      execFileSync('ip', ['netns', 'del', name]);
    }
  }
}
