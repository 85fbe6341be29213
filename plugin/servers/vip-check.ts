import { randomUUID } from 'node:crypto';
import { createSocket } from 'node:dgram';
import { connect, isIPv6 } from 'node:net';
import type { Logger } from '../telemetry/logger';

/** An entry address as the check needs it. */
export interface CheckedEntry {
  /** Name of the SIP server that is bound to it. */
  readonly server: string;
  readonly address: string;
  readonly port: number;
  readonly transports: readonly ('udp' | 'tcp')[];
}

export interface VipCheckOptions {
  readonly entries: readonly CheckedEntry[];
  /** Time between two questions, and how long an answer may take, in ms. */
  readonly everyMs: number;
  /** Questions in a row that must stay without an answer. Default 3. */
  readonly misses?: number;
  /** How long an instance that handed over because of this is unfit, unless its server is connected anew, in ms. Default 60,000. */
  readonly holdMs?: number;
  /** Whether an entry answers. `undefined`: it could not be asked, since the address is not here. Default: OPTIONS. */
  readonly ask?: (entry: CheckedEntry, timeoutMs: number) => Promise<boolean | undefined>;
  readonly onChange: () => void;
  /** An entry stays silent although the instance has gone on for longer: every fifth question beyond `misses`. */
  readonly onSilence?: () => void;
  readonly log: Logger;
}

const MISSES = 3;
const HOLD_MS = 60_000;
const SILENT_ROUNDS = 5;

/**
 * Asks the SIP servers of the active instance at its own virtual addresses, as a phone would: OPTIONS over UDP (TCP where there is
 * no UDP), any answer is good. A server that hangs keeps its control connection for seconds and may keep it for ever,
 * but it does not answer. Only the active can ask: elsewhere the address is not its own.
 */
export class VipCheck {
  private readonly missed = new Map<string, number>();
  private readonly failed = new Set<string>();
  private timer: NodeJS.Timeout | undefined;
  private hold: NodeJS.Timeout | undefined;
  private alone: NodeJS.Timeout | undefined;

  constructor(private readonly options: VipCheckOptions) {}

  /** False: some SIP server does not answer at its address, as far as is known. */
  get healthy(): boolean {
    return this.failed.size === 0;
  }

  /** This instance has the addresses now, or not any more. */
  setActive(active: boolean): void {
    if (active === (this.timer !== undefined)) return;
    clearTimeout(this.hold);
    if (active) {
      this.missed.clear();
      this.timer = setInterval(() => this.round(), this.options.everyMs);
      this.timer.unref();
      return;
    }
    clearInterval(this.timer);
    this.timer = undefined;
    if (this.healthy) return;
    // Without the address nobody can ask: after a while it gets another chance.
    this.hold = setTimeout(() => this.forget([...this.failed]), this.options.holdMs ?? HOLD_MS);
    this.hold.unref();
  }

  /** The server is another process now: what was known of it does not count. */
  reconnected(server: string): void {
    this.forget([server]);
  }

  /**
   * Whether some instance is known to be active. While none is, an instance whose server did not answer is better than none:
   * it gets another chance. A moment without one is only a hand-over.
   */
  leaderKnown(known: boolean): void {
    clearTimeout(this.alone);
    if (known) return;
    this.alone = setTimeout(() => {
      if (this.timer === undefined) this.forget([...this.failed]);
    }, this.options.everyMs);
    this.alone.unref();
  }

  close(): void {
    clearInterval(this.timer);
    clearTimeout(this.alone);
    clearTimeout(this.hold);
    this.timer = undefined;
  }

  private round(): void {
    const { entries, everyMs, ask = askByOptions } = this.options;
    const round = this.timer;
    for (const entry of entries) {
      void ask(entry, everyMs).then((answered) => {
        if (this.timer === round && answered !== undefined) this.note(entry, answered);
      });
    }
  }

  private note(entry: CheckedEntry, answered: boolean): void {
    const { log, onChange, onSilence, misses = MISSES } = this.options;
    const { server, address, port } = entry;
    if (answered) {
      this.missed.delete(server);
      if (!this.failed.delete(server)) return;
      log.info({ server, address, port }, 'the SIP server answers at its address again');
      onChange();
      return;
    }
    const missed = (this.missed.get(server) ?? 0) + 1;
    this.missed.set(server, missed);
    if (missed > misses && (missed - misses) % SILENT_ROUNDS === 1) onSilence?.();
    if (missed < misses || this.failed.has(server)) return;
    this.failed.add(server);
    log.error({ server, address, port, missed }, 'the SIP server does not answer OPTIONS at its own address');
    onChange();
  }

  private forget(servers: readonly string[]): void {
    let changed = false;
    for (const server of servers) {
      this.missed.delete(server);
      changed = this.failed.delete(server) || changed;
    }
    if (changed) this.options.onChange();
  }
}

/** One OPTIONS (RFC 3261 §11) without repetition, over a socket of its own. */
export async function askByOptions(entry: CheckedEntry, timeoutMs: number): Promise<boolean | undefined> {
  const overUdp = entry.transports.includes('udp');
  const branch = `z9hG4bK${randomUUID()}`;
  const host = isIPv6(entry.address) ? `[${entry.address}]` : entry.address;
  const options = (localPort: number): string =>
    [
      `OPTIONS sip:${host}:${entry.port} SIP/2.0`,
      `Via: SIP/2.0/${overUdp ? 'UDP' : 'TCP'} ${host}:${localPort};branch=${branch};rport`,
      'Max-Forwards: 1',
      `From: <sip:check@${host}>;tag=${branch.slice(-12)}`,
      `To: <sip:${host}:${entry.port}>`,
      `Call-ID: ${branch.slice(7)}`,
      'CSeq: 1 OPTIONS',
      'Content-Length: 0',
      '',
      '',
    ].join('\r\n');
  return await (overUdp ? overDatagram : overStream)(entry, options, branch, timeoutMs);
}

const isAnswer = (bytes: Buffer, branch: string): boolean => {
  const text = bytes.toString('latin1');
  return text.startsWith('SIP/2.0 ') && text.includes(branch);
};

type Ask = (
  entry: CheckedEntry,
  options: (localPort: number) => string,
  branch: string,
  timeoutMs: number,
) => Promise<boolean | undefined>;

const overDatagram: Ask = ({ address, port }, options, branch, timeoutMs) =>
  new Promise((resolve) => {
    const socket = createSocket(isIPv6(address) ? 'udp6' : 'udp4');
    const settle = settler(resolve, timeoutMs, () => socket.close());
    // Bound to the address itself: where it is not ours (any more) that, or sending, fails, and says nothing of the server.
    socket.on('error', () => settle(undefined));
    socket.on('message', (bytes) => {
      if (isAnswer(bytes, branch)) settle(true);
    });
    socket.bind({ address, port: 0, exclusive: true }, () => {
      socket.send(options(socket.address().port), port, address, (error) => {
        // Nobody listens: that is an answer about the server. Everything else is about the address.
        if (error !== null) settle(undefined);
      });
    });
  });

const overStream: Ask = ({ address, port }, options, branch, timeoutMs) =>
  new Promise((resolve) => {
    const socket = connect({ host: address, port, localAddress: address });
    const settle = settler(resolve, timeoutMs, () => socket.destroy());
    let got = Buffer.alloc(0);
    socket.on('connect', () => socket.write(options(socket.localPort ?? 0)));
    socket.on('data', (chunk) => {
      got = Buffer.concat([got, chunk]);
      if (isAnswer(got, branch)) settle(true);
    });
    socket.on('error', (error: NodeJS.ErrnoException) =>
      settle(error.code === 'ECONNREFUSED' ? false : undefined),
    );
  });

/** Settles once; at the latest after the time-out with `false`, having looked once more at what has come. */
function settler(
  resolve: (answered: boolean | undefined) => void,
  timeoutMs: number,
  close: () => void,
): (answered: boolean | undefined) => void {
  let settled = false;
  const settle = (answered: boolean | undefined): void => {
    if (settled) return;
    settled = true;
    clearTimeout(timer);
    close();
    resolve(answered);
  };
  // After a freeze of this process timers run before what has arrived meanwhile is read.
  const timer = setTimeout(() => setImmediate(() => settle(false)), timeoutMs);
  timer.unref();
  return settle;
}
