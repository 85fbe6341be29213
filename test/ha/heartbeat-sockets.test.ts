import { createSocket, type Socket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import type { GroupMessage } from '../../plugin/ha/group/message';
import { HeartbeatSockets } from '../../plugin/ha/heartbeat/sockets';
import { decode, encode } from '../../plugin/ha/heartbeat/wire';
import { freePort } from '../fixtures/sip-endpoint';
import { silentLogger } from '../../plugin/telemetry/logger';

const message: GroupMessage = {
  ...{ kind: 'BEAT', from: 'a', to: '', state: 'ACTIVE', incarnation: 1, seq: 1, heard: {} },
  ...{ term: 1, highestTerm: 1, tenure: 1, links: 1, priority: 100, grant: 0 },
};

/** Bytes that wait in the kernel for the socket of this port, unread. */
function waitingAt(port: number): number {
  const end = `:${port.toString(16).toUpperCase().padStart(4, '0')}`;
  const line = readFileSync('/proc/net/udp', 'utf8')
    .split('\n')
    .map((text) => text.trim().split(/\s+/))
    .find(([, local]) => local?.endsWith(end) === true);
  return parseInt(line?.[4]?.split(':')[1] ?? '0', 16);
}

it('a heartbeat has left when send returns: what follows it, as the renewal of the lease, is not overtaken', async () => {
  const peer = createSocket('udp4');
  await new Promise<void>((resolve) => peer.bind(0, '127.0.0.1', resolve));
  const { port } = peer.address();
  const sockets = new HeartbeatSockets({
    ...{ group: 'g', instance: 'a', key: 'a key of the test', log: silentLogger, now: () => 0 },
    listen: { m1: { host: '127.0.0.1', port: 0 } },
    peers: [{ id: 'b', links: { m1: { host: '127.0.0.1', port } } }],
    onMessage: () => undefined,
    onTwin: () => undefined,
    onHearing: () => undefined,
  });
  await sockets.open();
  expect(waitingAt(port)).toBe(0);
  sockets.send(message, ['b']);
  expect(waitingAt(port)).toBeGreaterThan(0);
  sockets.close();
  peer.close();
});

describe('an instance that is not listed', () => {
  const KEY = 'a key of the test';
  let sockets: HeartbeatSockets;
  let stranger: Socket;
  const heard: string[] = [];
  let answers: number[];
  let to: number;
  beforeEach(async () => {
    heard.length = 0;
    answers = [];
    stranger = createSocket('udp4');
    stranger.on('message', (bytes) => {
      const decoded = decode('g', bytes, KEY);
      if (decoded.ok) answers.push(decoded.message.seq);
    });
    await new Promise<void>((resolve) => stranger.bind(0, '127.0.0.1', resolve));
    to = await freePort();
    sockets = new HeartbeatSockets({
      ...{ group: 'g', instance: 'a', key: KEY, log: silentLogger, now: () => 0 },
      listen: { m1: { host: '127.0.0.1', port: to } },
      peers: [],
      onMessage: ({ from }) => heard.push(from),
      onTwin: ({ from }) => heard.push(from),
      onHearing: () => undefined,
    });
    await sockets.open();
  });
  afterEach(() => {
    sockets.close();
    stranger.close();
  });

  const passed = (): Promise<void> => new Promise((resolve) => setTimeout(resolve, 20));
  const say = async (seq: number, key = KEY, group = 'g'): Promise<void> => {
    stranger.send(encode(group, { ...message, from: 'c', seq }, key), to, '127.0.0.1');
    await passed();
  };
  const beats = async (from: number, count: number): Promise<void> => {
    for (let seq = from; seq < from + count; seq++) sockets.send({ ...message, seq }, []);
    await passed();
  };

  it('hears our heartbeats, two for each of its own at the most, and counts for nothing', async () => {
    await say(1);
    expect(answers).toEqual([]);
    await beats(1, 5);
    expect(answers).toEqual([1, 2]);
    for (let seq = 2; seq < 12; seq++) await say(seq);
    await beats(6, 9);
    expect(answers).toEqual([1, 2, 6, 7, 8, 9]);
    expect(heard).toEqual([]);
    expect(sockets.unlisted(1)).toEqual(['c']);
  });

  it('is not answered what is forged, of another group, or recorded and sent again', async () => {
    await say(1, 'another key of the test');
    await say(1, KEY, 'h');
    await beats(1, 3);
    expect(answers).toEqual([]);
    expect(sockets.unlisted(1)).toEqual([]);
    await say(5);
    await beats(4, 3);
    await say(5);
    await say(4);
    await beats(7, 3);
    expect(answers).toEqual([4, 5]);
  });
});
