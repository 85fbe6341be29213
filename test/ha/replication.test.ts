import type { AddressInfo, Server, Socket } from 'node:net';
import { connect, createServer } from 'node:net';
import { ChangeLog } from '../../plugin/ha/replication/change-log';
import { Replication } from '../../plugin/ha/replication/replication';
import { GREETING, NONCE_BYTES } from '../../plugin/ha/replication/session';
import type { ReplicatedTopic } from '../../plugin/ha/replication/topic';
import type { GroupSettings } from '../../plugin/ha/settings';
import { silentLogger } from '../../plugin/telemetry/logger';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function until(condition: () => boolean, what: string, withinMs = 5000): Promise<void> {
  const end = performance.now() + withinMs;
  while (!condition()) {
    if (performance.now() > end) throw new Error(`not within ${withinMs} ms: ${what}`);
    await pause(5);
  }
}

/** A map that is replicated. */
class Table implements ReplicatedTopic {
  readonly name = 'table';
  readonly rows = new Map<string, number>();
  resets = 0;

  *snapshot(): Iterable<unknown> {
    for (const [key, value] of this.rows) yield { key, value };
  }

  apply(record: unknown): void {
    const { key, value } = record as { key: string; value: number };
    this.rows.set(key, value);
  }

  reset(): void {
    this.resets += 1;
    this.rows.clear();
  }
}

async function freePort(): Promise<number> {
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  await new Promise((resolve) => server.close(resolve));
  return port;
}

/** Stands between follower and source: can be stopped, and made so slow that nothing passes. */
class Relay {
  private readonly sockets = new Set<Socket>();
  private server: Server | undefined;
  stuck = false;

  constructor(
    readonly port: number,
    private readonly target: number,
  ) {}

  async open(): Promise<void> {
    this.server = createServer((socket) => {
      const onward = connect(this.target, '127.0.0.1');
      for (const each of [socket, onward]) {
        this.sockets.add(each);
        each.on('error', () => undefined);
      }
      socket.pipe(onward);
      onward.on('data', (chunk) => {
        if (this.stuck) onward.pause();
        else socket.write(chunk);
      });
      socket.on('close', () => onward.destroy());
      onward.on('close', () => socket.destroy());
    });
    await new Promise<void>((resolve) => this.server?.listen(this.port, '127.0.0.1', resolve));
  }

  async cut(): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    this.sockets.clear();
    await new Promise((resolve) => this.server?.close(resolve));
  }
}

describe('the replication channel', () => {
  const open: { close: () => Promise<void> }[] = [];
  let relay: Relay;
  let active: Replication;
  let standby: Replication;
  let here: Table;
  let there: Table;

  const settingsOf = (
    instance: string,
    port: number,
    peer: string,
    peerPort: number,
    key = 'key',
  ): GroupSettings => ({
    group: 'g',
    instance,
    key,
    listen: { m1: { host: '127.0.0.1', port } },
    peers: [{ id: peer, links: { m1: { host: '127.0.0.1', port: peerPort } } }],
    vips: [],
  });

  beforeEach(async () => {
    const [portA, portB, between] = [await freePort(), await freePort(), await freePort()];
    here = new Table();
    there = new Table();
    relay = new Relay(between, portA);
    await relay.open();
    active = new Replication(settingsOf('a', portA, 'b', portB), [here]);
    standby = new Replication(settingsOf('b', portB, 'a', between), [there]);
    open.push(active, standby);
    await Promise.all([active.start(), standby.start()]);
  });

  afterEach(async () => {
    await Promise.all(open.splice(0).map((each) => each.close()));
    await relay.cut();
  });

  const put = (key: string, value: number): void => {
    here.rows.set(key, value);
    active.publish('table', { key, value });
  };
  const same = (): boolean =>
    there.rows.size === here.rows.size &&
    [...here.rows].every(([key, value]) => there.rows.get(key) === value);

  it('brings what was there before, and every change behind it', async () => {
    for (let index = 0; index < 1000; index++) here.rows.set(`old ${index}`, index);
    there.rows.set('what the active does not have', 1);
    standby.setLeader('a');
    await until(() => standby.state.complete && same(), 'the snapshot');
    for (let index = 0; index < 500; index++) put(`new ${index}`, index);
    await until(same, 'the changes');
    expect(there.resets).toBe(1);
    expect(active.state.followers).toBe(1);
    expect(standby.state).toEqual({ followers: 0, following: 'a', complete: true });
  });

  it('goes on where it was after a break, without a new snapshot', async () => {
    put('before', 1);
    standby.setLeader('a');
    await until(same, 'the first');
    await relay.cut();
    for (let index = 0; index < 300; index++) put(`meanwhile ${index}`, index);
    await relay.open();
    await until(same, 'what was missed');
    expect(there.resets).toBe(1);
  });

  it('takes a new snapshot when the changes it misses are forgotten', async () => {
    put('before', 1);
    standby.setLeader('a');
    await until(same, 'the first');
    await relay.cut();
    for (let index = 0; index < 60_000; index++) put(`key ${index % 100}`, index);
    await relay.open();
    await until(() => there.resets === 2 && same(), 'the second snapshot');
  });

  it('never queues for a follower that does not read: memory stays, the active goes on', async () => {
    standby.setLeader('a');
    await until(() => standby.state.complete, 'connected');
    relay.stuck = true;
    let slowest = 0;
    let last = performance.now();
    for (let round = 0; round < 200; round++) {
      for (let index = 0; index < 500; index++) put(`key ${index}`, round * index);
      await new Promise((resolve) => setImmediate(resolve));
      slowest = Math.max(slowest, performance.now() - last);
      last = performance.now();
    }
    expect(same()).toBe(false);
    // 100,000 changes went by; no turn of the loop was held up by more than scheduling can explain.
    expect(slowest).toBeLessThan(1000);
    relay.stuck = false;
    await relay.cut();
    await relay.open();
    await until(same, 'caught up');
  });

  it('takes nothing from, and gives nothing to, whoever does not know the key', async () => {
    put('secret', 1);
    const port = await freePort();
    const stranger = new Table();
    const intruder = new Replication(settingsOf('b', port, 'a', relay.port, 'a wrong key'), [stranger]);
    open.push(intruder);
    await intruder.start();
    intruder.setLeader('a');
    await pause(300);
    expect(stranger.rows.size).toBe(0);
    expect(intruder.state.complete).toBe(false);
    const raw = connect(relay.port, '127.0.0.1');
    raw.on('error', () => undefined).resume();
    raw.write(Buffer.alloc(500, 'x'));
    await new Promise((resolve) => raw.on('close', resolve));
  });

  it('reads little from, and says little of, whoever has not shown to know the key', async () => {
    const port = await freePort();
    const said: string[] = [];
    const note = (_fields: object, message?: string): void => void said.push(message ?? '');
    const log = { ...silentLogger, warn: note, error: note };
    const source = new Replication(settingsOf('a', port, 'b', relay.port), [here], log);
    open.push(source);
    await source.start();
    const longFrame = Buffer.alloc(4);
    longFrame.writeUInt32BE(5_000_000);
    const begun = performance.now();
    for (let index = 0; index < 5; index++) {
      const raw = connect(port, '127.0.0.1');
      raw.on('error', () => undefined).resume();
      raw.write(Buffer.concat([GREETING, Buffer.alloc(NONCE_BYTES), longFrame]));
      await new Promise((resolve) => raw.on('close', resolve));
    }
    // At once, not when the time for a handshake is over.
    expect(performance.now() - begun).toBeLessThan(2000);
    await until(() => source.state.followers === 0, 'all gone');
    expect(said).toEqual(['somebody who is no standby connected for replication']);
  });

  it('follows the new active after a switch, and nobody while it is active itself', async () => {
    put('first', 1);
    standby.setLeader('a');
    await until(same, 'following');
    standby.setLeader('b');
    await until(() => active.state.followers === 0, 'not following itself');
    expect(standby.state.complete).toBe(false);
    // Nobody known for a moment: goes on as it was.
    standby.setLeader('');
    expect(standby.state.following).toBe('');
  });
});

describe('the log of changes', () => {
  it('gives what is behind a sequence, or says that it is forgotten', () => {
    const log = new ChangeLog(10);
    expect(log.after(0, 5)).toEqual([]);
    for (let index = 1; index <= 25; index++) log.add('t', index);
    expect(log.last).toBe(25);
    expect(log.after(25, 5)).toEqual([]);
    expect(log.after(20, 3)?.map(([seq]) => seq)).toEqual([21, 22, 23]);
    expect(log.after(15, 100)?.map(([, , record]) => record)).toEqual([
      16, 17, 18, 19, 20, 21, 22, 23, 24, 25,
    ]);
    expect(log.after(14, 100)).toBeUndefined();
    expect(log.after(26, 1)).toBeUndefined();
  });
});
