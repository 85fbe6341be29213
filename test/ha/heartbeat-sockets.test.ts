import { createSocket } from 'node:dgram';
import { readFileSync } from 'node:fs';
import type { GroupMessage } from '../../plugin/ha/group/message';
import { HeartbeatSockets } from '../../plugin/ha/heartbeat/sockets';
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
