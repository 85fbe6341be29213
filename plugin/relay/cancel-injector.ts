import { createSocket, type Socket } from 'node:dgram';
import { isIPv6 } from 'node:net';
import type { InboundRequest } from '../link/sip-link';
import { buildRequest } from '../message/build';
import { monotonicClock, type MonotonicClock } from '../telemetry/clock';
import type { Logger } from '../telemetry/logger';

/** Milliseconds between two CANCELs: T1, doubled up to T2 (RFC 3261 §17.1.2.1). */
const FIRST_PAUSE_MS = 150;
const LONGEST_PAUSE_MS = 4000;
/** 64 × T1: what has not ended by then ends by itself. */
const GIVE_UP_MS = 32_000;

/** Time after which the server has done a command for sure, where it is not seen, so that a CANCEL finds the proxied call. */
const SETTLED_MS = 1000;

/** A CANCEL that is being repeated. */
interface Repetition {
  /** Had the server done the command when the last CANCEL was sent? */
  settled: boolean;
  confirmed: boolean;
}

/**
 * Repeats a caller's CANCEL to the SIP server. drachtio-server forgets a CANCEL that comes between an INVITE's
 * arrival and its proxying: the next site would ring for ever. The same CANCEL again, with the INVITE's own branch,
 * then finds the proxied call. It is repeated until that call has ended, or the server has said 200 to one that came
 * when the command was done for sure; each one it takes makes it send the caller its 487 once more.
 */
export class CancelInjector {
  private readonly sockets = new Map<'udp4' | 'udp6', Socket>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private readonly repetitions = new Map<string, Repetition>();
  private closed = false;

  constructor(
    private readonly log: Logger,
    private readonly now: MonotonicClock = monotonicClock,
  ) {}

  /**
   * Sends CANCEL for an INVITE the server handed over, again and again until `done` says so.
   * @param since when the server was told to proxy it, monotonic milliseconds
   */
  inject(request: InboundRequest, since: number, done: () => boolean): void {
    const text = cancelText(request);
    const branch = request.message.via?.branch;
    const { address, port } = request.receivedOn;
    if (text === undefined || branch === undefined || address === '') return;
    this.log.info({ callId: request.message.callId }, 'repeating a CANCEL to the SIP server');
    const repetition: Repetition = { settled: false, confirmed: false };
    this.repetitions.set(branch, repetition);
    let pause = FIRST_PAUSE_MS;
    let waited = 0;
    const again = (): void => {
      if (this.closed || done() || repetition.confirmed || waited > GIVE_UP_MS) {
        if (this.repetitions.get(branch) === repetition) this.repetitions.delete(branch);
        return;
      }
      repetition.settled = request.relayed === true || this.now() > since + SETTLED_MS;
      this.send(text, address, port);
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        again();
      }, pause);
      this.timers.add(timer);
      waited += pause;
      pause = Math.min(LONGEST_PAUSE_MS, pause * 2);
    };
    again();
  }

  close(): void {
    this.closed = true;
    for (const timer of this.timers) clearTimeout(timer);
    this.timers.clear();
    this.repetitions.clear();
    for (const socket of this.sockets.values()) socket.close();
    this.sockets.clear();
  }

  private answered(text: string): void {
    const branch = /^SIP\/2\.0 200 /.test(text) ? /;branch=([^;,\s]+)/i.exec(text)?.[1] : undefined;
    const repetition = branch === undefined ? undefined : this.repetitions.get(branch);
    if (repetition?.settled === true) repetition.confirmed = true;
  }

  private send(text: string, address: string, port: number): void {
    const type = isIPv6(address) ? 'udp6' : 'udp4';
    let socket = this.sockets.get(type);
    if (socket === undefined) {
      socket = createSocket(type);
      socket.on('message', (bytes) => this.answered(bytes.toString('latin1')));
      socket.on('error', (error) => {
        this.log.warn({ err: error }, 'a CANCEL could not be repeated');
      });
      socket.unref();
      this.sockets.set(type, socket);
    }
    socket.send(Buffer.from(text, 'latin1'), port, address);
  }
}

/** The CANCEL of an INVITE (RFC 3261 §9.1): its Request-URI, top Via, From, To, Call-ID and CSeq number. */
function cancelText({ message }: InboundRequest): string | undefined {
  const { via, cseq } = message;
  if (via?.branch === undefined || cseq === undefined) return undefined;
  const port = via.port === undefined ? '' : `:${via.port}`;
  return buildRequest({
    method: 'CANCEL',
    uri: message.uri,
    headers: [
      ['Via', `SIP/2.0/UDP ${via.host}${port};branch=${via.branch};rport`],
      ['Max-Forwards', '70'],
      ['From', message.get('from') ?? ''],
      ['To', message.get('to') ?? ''],
      ['Call-ID', message.callId ?? ''],
      ['CSeq', `${cseq.number} CANCEL`],
    ],
  });
}
