import { randomBytes } from 'node:crypto';
import type { Socket } from 'node:net';
import { connect } from 'node:net';
import type { Logger } from '../../telemetry/logger';
import type { Endpoint } from '../heartbeat/sockets';
import { FrameReader, FrameWriter, GREETING, NONCE_BYTES, sessionKey } from './session';
import type { Follow, ReplicatedTopic, SourceFrame } from './topic';

const FIRST_RETRY_MS = 500;
/** An unavailable source is tried this often. */
const LAST_RETRY_MS = 15_000;
/** The source sends something every 5 s. */
const SILENCE_MS = 15_000;

/** The side that wants the data: follows one source over whichever of its links answers, and resumes after breaks. */
export class ReplicationFollower {
  private source: { readonly id: string; readonly links: readonly Endpoint[] } | undefined;
  private socket: Socket | undefined;
  private retry: NodeJS.Timeout | undefined;
  private failures = 0;
  private stream = '';
  private seq = 0;
  private isComplete = false;
  /** Of the snapshot that is coming in. */
  private pendingStream = '';

  constructor(
    private readonly options: {
      readonly group: string;
      readonly key: string;
      readonly instance: string;
      readonly topics: ReadonlyMap<string, ReplicatedTopic>;
      readonly log: Logger;
    },
  ) {}

  /** Everything the source had when we connected, and all since, is applied. */
  get complete(): boolean {
    return this.isComplete;
  }

  /** Follows another source, or nobody. The one followed already goes on undisturbed. */
  follow(source: { readonly id: string; readonly links: readonly Endpoint[] } | undefined): void {
    if (source?.id === this.source?.id) return;
    this.stop();
    this.source = source;
    this.failures = 0;
    if (source !== undefined) this.connect();
  }

  close(): void {
    this.stop();
    this.source = undefined;
  }

  private stop(): void {
    clearTimeout(this.retry);
    this.isComplete = false;
    const { socket } = this;
    this.socket = undefined;
    socket?.destroy();
  }

  private connect(): void {
    const { source } = this;
    const endpoint = source?.links[this.failures % Math.max(1, source.links.length)];
    if (source === undefined || endpoint === undefined) return;
    const { group, key, instance, log } = this.options;
    const socket = connect({ host: endpoint.host, port: endpoint.port });
    this.socket = socket;
    socket.setNoDelay(true);
    socket.setTimeout(SILENCE_MS, () => socket.destroy(new Error('the source is silent')));
    const ours = randomBytes(NONCE_BYTES);
    let theirs = Buffer.alloc(0);
    let reader: FrameReader | undefined;
    let why: Error | undefined;
    socket.on('connect', () => socket.write(Buffer.concat([GREETING, ours])));
    socket.on('data', (chunk) => {
      try {
        let rest = chunk;
        if (reader === undefined) {
          theirs = Buffer.concat([theirs, chunk]);
          if (theirs.length < NONCE_BYTES) return;
          rest = theirs.subarray(NONCE_BYTES);
          const nonces = [ours, theirs.subarray(0, NONCE_BYTES)] as const;
          reader = new FrameReader(sessionKey(key, group, 'source', nonces));
          const hello: Follow = { instance, stream: this.stream, seq: this.seq };
          socket.write(new FrameWriter(sessionKey(key, group, 'follower', nonces)).frame(hello));
        }
        // A connection given up for another source must not bring anything any more.
        for (const frame of reader.push(rest)) if (this.socket === socket) this.take(frame as SourceFrame);
      } catch (error) {
        socket.destroy(error instanceof Error ? error : new Error('a frame cannot be read'));
      }
    });
    socket.on('error', (error) => (why = error));
    socket.on('close', () => {
      if (this.socket !== socket) return;
      this.socket = undefined;
      this.isComplete = false;
      if (this.failures === 0)
        log.warn({ err: why, source: source.id }, 'replication from the active broke off');
      const delay = Math.min(LAST_RETRY_MS, FIRST_RETRY_MS * 2 ** Math.min(10, this.failures));
      this.failures += 1;
      this.retry = setTimeout(() => this.connect(), delay);
    });
  }

  private take(frame: SourceFrame): void {
    const { topics } = this.options;
    switch (frame.type) {
      case 'snapshot':
        for (const topic of topics.values()) topic.reset?.();
        // Only a complete snapshot can be resumed from.
        this.stream = '';
        this.pendingStream = frame.stream;
        this.seq = frame.seq;
        return;
      case 'records':
        for (const [name, record] of frame.records) topics.get(name)?.apply(record);
        return;
      case 'complete':
        this.stream = this.pendingStream;
        this.done();
        return;
      case 'changes':
        for (const [seq, name, record] of frame.changes) {
          topics.get(name)?.apply(record);
          this.seq = seq;
        }
        this.done();
        return;
      case 'idle':
        this.done();
    }
  }

  private done(): void {
    if (this.stream === '') return;
    if (!this.isComplete)
      this.options.log.info({ source: this.source?.id }, 'replication from the active is complete');
    this.isComplete = true;
    this.failures = 0;
  }
}
