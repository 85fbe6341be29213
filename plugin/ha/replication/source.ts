import { randomBytes, randomUUID } from 'node:crypto';
import type { Server, Socket } from 'node:net';
import { createServer } from 'node:net';
import type { Logger } from '../../telemetry/logger';
import type { Endpoint } from '../heartbeat/sockets';
import { ChangeLog } from './change-log';
import { RepeatedFailures } from '../repeated-failures';
import { FrameReader, FrameWriter, GREETING, MAX_FOLLOW_BYTES, NONCE_BYTES, sessionKey } from './session';
import type { Follow, ReplicatedTopic, SourceFrame } from './topic';

/** Records in one frame: small enough that making one does not hold up calls. */
const BATCH = 200;
/** Changes kept for followers that were away. */
const LOG_LIMIT = 50_000;
const IDLE_MS = 5_000;
const HANDSHAKE_LIMIT_MS = 3_000;
const BIND_RETRY_MS = 1_000;
/** Connections at one address: standbys have one each, the rest is for strangers, who are gone after the handshake's time. */
const MAX_CONNECTIONS = 64;

/**
 * The side that has the data. It never waits for a follower and never queues for one: a follower that is slow gets the
 * next batch when its socket has room, from the log of changes, and a new snapshot when it is too far behind.
 */
export class ReplicationSource {
  private readonly stream = randomUUID();
  private readonly log: ChangeLog = new ChangeLog(LOG_LIMIT);
  private readonly servers: Server[] = [];
  private readonly followers = new Set<FollowerConnection>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private readonly failures: RepeatedFailures;
  private closed = false;

  constructor(
    private readonly options: {
      readonly group: string;
      readonly key: string;
      readonly listen: readonly Endpoint[];
      readonly topics: ReadonlyMap<string, ReplicatedTopic>;
      readonly log: Logger;
    },
  ) {
    this.failures = new RepeatedFailures(options.log, () => performance.now());
  }

  /** Resolves when each address is listened on or has failed once; those that failed are tried again. */
  async open(): Promise<void> {
    await Promise.all(this.options.listen.map((endpoint) => this.listen(endpoint)));
  }

  get followerCount(): number {
    return this.followers.size;
  }

  /** Costs the same whether nobody follows or many do. */
  publish(topic: string, record: unknown): void {
    this.log.add(topic, record);
    for (const follower of this.followers) follower.wake();
  }

  async close(): Promise<void> {
    this.closed = true;
    for (const timer of this.timers) clearTimeout(timer);
    for (const follower of this.followers) follower.end();
    await Promise.all(this.servers.map((server) => new Promise((resolve) => server.close(resolve))));
  }

  private listen(endpoint: Endpoint): Promise<void> {
    const { log } = this.options;
    return new Promise((resolve) => {
      const server = createServer((socket) => this.accept(socket));
      server.maxConnections = MAX_CONNECTIONS;
      server.on('error', (error) => {
        log.warn({ err: error, ...endpoint }, 'replication cannot listen, tried again');
        const timer = setTimeout(() => {
          this.timers.delete(timer);
          if (!this.closed) void this.listen(endpoint);
        }, BIND_RETRY_MS);
        this.timers.add(timer);
        resolve();
      });
      server.listen(endpoint.port, endpoint.host, () => {
        this.servers.push(server);
        resolve();
      });
    });
  }

  private accept(socket: Socket): void {
    const { group, key, topics, log } = this.options;
    const from = socket.remoteAddress;
    const follower = new FollowerConnection(socket, { group, key }, this.stream, this.log, topics, {
      onReady: (instance) => log.info({ instance }, 'a standby follows'),
      onEnd: (why, wasReady) => {
        this.followers.delete(follower);
        if (why === undefined) return;
        const fields = { err: why, from };
        if (wasReady) log.warn(fields, 'replication to a standby ended');
        // Strangers may come as often as they like.
        else
          this.failures.failed('handshake', fields, 'somebody who is no standby connected for replication');
      },
    });
    this.followers.add(follower);
  }
}

/** One follower: handshake, then a snapshot or the changes it misses, then what comes. */
class FollowerConnection {
  private readonly nonce = randomBytes(NONCE_BYTES);
  private reader: FrameReader | undefined;
  private writer: FrameWriter | undefined;
  private greeting = Buffer.alloc(0);
  /** Up to where it has been sent everything; undefined: it needs a snapshot. */
  private cursor: number | undefined;
  private snapshot: Iterator<readonly [string, unknown], undefined> | undefined;
  private ready = false;
  private scheduled = false;
  private readonly idle: NodeJS.Timeout;
  private readonly handshake: NodeJS.Timeout;

  constructor(
    private readonly socket: Socket,
    private readonly secret: { readonly group: string; readonly key: string },
    private readonly stream: string,
    private readonly log: ChangeLog,
    private readonly topics: ReadonlyMap<string, ReplicatedTopic>,
    private readonly told: {
      readonly onReady: (instance: string) => void;
      readonly onEnd: (why: Error | undefined, wasReady: boolean) => void;
    },
  ) {
    socket.setNoDelay(true);
    socket.write(this.nonce);
    this.idle = setInterval(() => {
      if (this.ready && !socket.writableNeedDrain) this.send({ type: 'idle' });
    }, IDLE_MS);
    this.handshake = setTimeout(() => socket.destroy(new Error('no handshake in time')), HANDSHAKE_LIMIT_MS);
    let why: Error | undefined;
    socket.on('data', (chunk) => this.onData(chunk));
    socket.on('drain', () => this.wake());
    socket.on('error', (error) => (why = error));
    socket.on('close', () => {
      clearInterval(this.idle);
      clearTimeout(this.handshake);
      told.onEnd(why, this.ready);
    });
  }

  end(): void {
    this.socket.destroy();
  }

  /** There may be something to send: once per turn of the loop, however many changes there were. */
  wake(): void {
    if (this.scheduled || !this.ready) return;
    this.scheduled = true;
    setImmediate(() => {
      this.scheduled = false;
      if (!this.socket.destroyed && !this.socket.writableNeedDrain) this.pump();
    });
  }

  private onData(chunk: Buffer): void {
    try {
      if (this.reader !== undefined) this.onFrames(this.reader.push(chunk));
      else this.onGreeting(chunk);
    } catch (error) {
      this.socket.destroy(error instanceof Error ? error : new Error('a frame cannot be read'));
    }
  }

  private onGreeting(chunk: Buffer): void {
    this.greeting = Buffer.concat([this.greeting, chunk]);
    const length = GREETING.length + NONCE_BYTES;
    if (this.greeting.length < length) return;
    if (!this.greeting.subarray(0, GREETING.length).equals(GREETING))
      throw new Error('not a follower of this version');
    const theirs = this.greeting.subarray(GREETING.length, length);
    const { key, group } = this.secret;
    this.reader = new FrameReader(sessionKey(key, group, 'follower', [theirs, this.nonce]), MAX_FOLLOW_BYTES);
    this.writer = new FrameWriter(sessionKey(key, group, 'source', [theirs, this.nonce]));
    if (this.greeting.length > length) this.onFrames(this.reader.push(this.greeting.subarray(length)));
  }

  private onFrames(frames: readonly unknown[]): void {
    for (const frame of frames) {
      if (this.ready) continue;
      const { instance, stream, seq } = frame as Follow;
      clearTimeout(this.handshake);
      this.ready = true;
      if (stream === this.stream) this.cursor = seq;
      this.told.onReady(instance);
    }
    this.wake();
  }

  private pump(): void {
    if (this.snapshot !== undefined) {
      this.continueSnapshot(this.snapshot);
      return;
    }
    const changes = this.cursor === undefined ? undefined : this.log.after(this.cursor, BATCH);
    if (changes === undefined) {
      this.cursor = this.log.last;
      this.snapshot = this.everything();
      this.send({ type: 'snapshot', stream: this.stream, seq: this.cursor });
      this.wake();
      return;
    }
    const last = changes.at(-1);
    if (last === undefined) return;
    this.cursor = last[0];
    this.send({ type: 'changes', stream: this.stream, changes });
    this.wake();
  }

  private continueSnapshot(snapshot: Iterator<readonly [string, unknown], undefined>): void {
    const records: (readonly [string, unknown])[] = [];
    while (records.length < BATCH) {
      const { value } = snapshot.next();
      if (value === undefined) {
        this.snapshot = undefined;
        break;
      }
      records.push(value);
    }
    if (records.length > 0) this.send({ type: 'records', records });
    if (this.snapshot === undefined) this.send({ type: 'complete' });
    this.wake();
  }

  private *everything(): Generator<readonly [string, unknown], undefined> {
    for (const [name, topic] of this.topics) for (const record of topic.snapshot()) yield [name, record];
    return undefined;
  }

  private send(frame: SourceFrame): void {
    if (this.writer !== undefined) this.socket.write(this.writer.frame(frame));
  }
}
