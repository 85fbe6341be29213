import { createSocket, type RemoteInfo, type Socket } from 'node:dgram';
import { randomBytes } from 'node:crypto';
import { parseMessage } from '../../message/parse';
import { param, parseNameAddr } from '../../message/name-addr';
import { parseUri } from '../../message/uri';
import type { SipMessage } from '../../message/sip-message';

/** RFC 3261 §17.1.1.1: the first retransmission comes after T1, the intervals double up to T2. */
const T1_MS = 500;
const T2_MS = 4000;

export interface Remote {
  readonly address: string;
  readonly port: number;
}

interface Pending {
  readonly answers: SipMessage[];
  readonly settle: (answer: SipMessage | undefined) => void;
  timer: NodeJS.Timeout;
}

/** A token that no other message uses. */
export const token = (bytes = 6): string => randomBytes(bytes).toString('hex');

const branchOf = (message: SipMessage): string => message.via?.branch ?? '';

/**
 * A simulated SIP party on one UDP socket: it sends requests with the retransmissions of RFC 3261 §17.1
 * and hands what comes in to `onRequest`, each transaction once; copies get the stored answer.
 */
export abstract class UdpParty {
  protected readonly socket: Socket;
  private readonly pending = new Map<string, Pending>();
  private readonly answered = new Map<string, string>();
  /** Requests that came more than once, i.e. that somebody had to repeat. */
  repeated = 0;
  address = '';
  port = 0;

  constructor() {
    this.socket = createSocket({ type: 'udp4', recvBufferSize: 4 << 20 });
    this.socket.on('message', (bytes, from) => this.receive(bytes, from));
  }

  async bind(address: string, port: number): Promise<void> {
    await new Promise<void>((resolve, reject) => {
      this.socket.once('error', reject);
      this.socket.bind(port, address, () => {
        this.socket.off('error', reject);
        this.socket.on('error', () => undefined);
        resolve();
      });
    });
    ({ address: this.address, port: this.port } = this.socket.address());
  }

  async close(): Promise<void> {
    for (const { settle } of [...this.pending.values()]) settle(undefined);
    await new Promise<void>((resolve) => this.socket.close(resolve));
  }

  protected abstract onRequest(request: SipMessage, from: Remote): void;

  protected transmit(text: string, to: Remote): void {
    this.socket.send(Buffer.from(text, 'latin1'), to.port, to.address);
  }

  /** Sends a request until it has a final answer; `undefined` after `timeoutMs` without one. */
  protected transact(
    text: string,
    branch: string,
    to: Remote,
    timeoutMs = 8000,
  ): Promise<{ final: SipMessage | undefined; answers: readonly SipMessage[] }> {
    return new Promise((resolve) => {
      const answers: SipMessage[] = [];
      const deadline = setTimeout(() => settle(undefined), timeoutMs);
      const settle = (final: SipMessage | undefined): void => {
        clearTimeout(deadline);
        clearTimeout(entry.timer);
        this.pending.delete(branch);
        resolve({ final, answers });
      };
      const repeat = (interval: number): NodeJS.Timeout =>
        setTimeout(() => {
          if (answers.length > 0 && text.startsWith('INVITE')) return;
          this.transmit(text, to);
          entry.timer = repeat(Math.min(interval * 2, T2_MS));
        }, interval);
      const entry: Pending = { answers, settle, timer: repeat(T1_MS) };
      this.pending.set(branch, entry);
      this.transmit(text, to);
    });
  }

  /** Answers a request along its top Via (RFC 3261 §18.2.2, RFC 3581 §4) and keeps the answer for copies. */
  protected answer(request: SipMessage, text: string, from: Remote): void {
    this.answered.set(`${branchOf(request)} ${request.method}`, text);
    if (this.answered.size > 20_000) this.answered.delete(this.answered.keys().next().value ?? '');
    this.transmit(text, from);
  }

  private receive(bytes: Buffer, from: RemoteInfo): void {
    const parsed = parseMessage(bytes.toString('latin1'));
    if (!parsed.ok) return;
    const { message } = parsed;
    if (message.kind === 'response') {
      const entry = this.pending.get(branchOf(message));
      if (!entry) return;
      entry.answers.push(message);
      if (message.status >= 200) entry.settle(message);
      return;
    }
    const key = `${branchOf(message)} ${message.method}`;
    if (message.method !== 'ACK') {
      const before = this.answered.get(key);
      if (before !== undefined) {
        this.repeated += 1;
        if (before !== '') this.transmit(before, from);
        return;
      }
      this.answered.set(key, '');
    }
    this.onRequest(message, from);
  }
}

/** The route set of a dialog as its creator sees it, from Record-Route (RFC 3261 §12.1.2). */
export const routeSet = (answer: SipMessage): readonly string[] => [...answer.list('record-route')].reverse();

/** The tag of a From or To. */
export function tagOf(message: SipMessage, side: 'from' | 'to'): string | undefined {
  const address = side === 'from' ? message.from : message.to;
  const tag = address ? param(address.params, 'tag') : undefined;
  return typeof tag === 'string' ? tag : undefined;
}

/** Where a request in a dialog goes: to the first route, else to the target (RFC 3261 §12.2.1.1). */
export function nextHop(route: readonly string[], target: string): Remote | undefined {
  const first = route[0] === undefined ? target : parseNameAddr(route[0])?.uri;
  const uri = first === undefined ? undefined : parseUri(first);
  return uri && uri.host !== '' ? { address: uri.host, port: uri.port ?? 5060 } : undefined;
}
