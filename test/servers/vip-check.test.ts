import { createSocket } from 'node:dgram';
import type { Socket } from 'node:dgram';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:net';
import type { CheckedEntry } from '../../plugin/servers/vip-check';
import { VipCheck, askByOptions } from '../../plugin/servers/vip-check';
import { silentLogger } from '../../plugin/telemetry/logger';

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
const entry = (port: number, transports: CheckedEntry['transports'] = ['udp']): CheckedEntry => ({
  server: 'main',
  address: '127.0.0.1',
  port,
  transports,
});

describe('the check at the own virtual address', () => {
  const open = new Set<{ close(): unknown }>();
  afterEach(() => {
    for (const one of open) one.close();
    open.clear();
  });

  const server = async (answer: (text: string) => string | undefined): Promise<[number, Socket]> => {
    const socket = createSocket('udp4');
    open.add(socket);
    socket.on('message', (bytes, from) => {
      const text = answer(bytes.toString('latin1'));
      if (text !== undefined) socket.send(text, from.port, from.address);
    });
    await new Promise<void>((resolve) => socket.bind(0, '127.0.0.1', resolve));
    return [socket.address().port, socket];
  };
  const refuse = (text: string): string => `SIP/2.0 503 No\r\n${/^Via: .*\r\n/m.exec(text)?.[0] ?? ''}\r\n`;

  it('takes any answer to its own OPTIONS, and nothing else, over UDP and TCP', async () => {
    const [answering] = await server((text) =>
      text.startsWith('OPTIONS sip:127.0.0.1:') ? refuse(text) : undefined,
    );
    const [silent] = await server(() => undefined);
    const [confused] = await server(() => 'SIP/2.0 200 OK\r\nVia: SIP/2.0/UDP x;branch=z9hG4bKother\r\n\r\n');
    expect(await askByOptions(entry(answering), 1000)).toBe(true);
    expect(await askByOptions(entry(silent), 100)).toBe(false);
    expect(await askByOptions(entry(confused), 100)).toBe(false);
    const tcp = createServer((socket) =>
      socket.on('data', (bytes) => socket.write(refuse(bytes.toString('latin1')))),
    );
    open.add(tcp);
    await new Promise<void>((resolve) => tcp.listen(0, '127.0.0.1', resolve));
    const { port } = tcp.address() as AddressInfo;
    expect(await askByOptions(entry(port, ['tcp']), 1000)).toBe(true);
    tcp.close();
    open.delete(tcp);
    await pause(50);
    expect(await askByOptions(entry(port, ['tcp']), 1000)).toBe(false);
  });

  it('says nothing of the server where the address is not this machine’s', async () => {
    expect(await askByOptions({ ...entry(5060), address: '203.0.113.7' }, 1000)).toBeUndefined();
    expect(await askByOptions({ ...entry(5060, ['tcp']), address: '203.0.113.7' }, 1000)).toBeUndefined();
  });

  const scripted = (answers: readonly (boolean | undefined)[], holdMs?: number) => {
    const left = [...answers];
    const seen: boolean[] = [];
    const counts = { silences: 0, asked: 0 };
    const check: VipCheck = new VipCheck({
      entries: [entry(5060)],
      everyMs: 10,
      ...(holdMs === undefined ? {} : { holdMs }),
      ask: () => {
        counts.asked += 1;
        return Promise.resolve(left.length > 1 ? left.shift() : left[0]);
      },
      onChange: () => seen.push(check.healthy),
      onSilence: () => (counts.silences += 1),
      log: silentLogger,
    });
    open.add(check);
    return { check, seen, counts };
  };

  it('calls the server unhealthy after three questions in a row without an answer, and healthy again with one', async () => {
    const { check, seen } = scripted([false, false, true, false, undefined, false, true]);
    check.setActive(true);
    await pause(150);
    expect(seen).toEqual([]);
    check.close();

    const { check: second, seen: changes } = scripted([false, false, false, false, true]);
    second.setActive(true);
    await pause(150);
    expect(changes).toEqual([false, true]);
  });

  it('asks nobody while it is not active, and remembers until the server is connected anew', async () => {
    const { check, seen } = scripted([false]);
    await pause(60);
    expect(check.healthy).toBe(true);
    check.setActive(true);
    await pause(100);
    check.setActive(false);
    await pause(60);
    expect(check.healthy).toBe(false);
    check.reconnected('another');
    expect(check.healthy).toBe(false);
    check.reconnected('main');
    expect(check.healthy).toBe(true);
    expect(seen).toEqual([false, true]);
  });

  it('tells of silence beyond that, at every fifth question', async () => {
    const { check, counts } = scripted([false]);
    check.setActive(true);
    while (counts.asked < 8) await pause(1);
    await pause(0);
    expect(counts.silences).toBe(1);
    while (counts.asked < 9) await pause(1);
    await pause(0);
    expect(counts.silences).toBe(2);
  });

  it('gives it another chance when nobody is active, but not for the moment of a hand-over', async () => {
    const { check, seen } = scripted([false]);
    check.setActive(true);
    await pause(100);
    check.setActive(false);
    check.leaderKnown(false);
    check.leaderKnown(true);
    await pause(60);
    expect(check.healthy).toBe(false);
    check.leaderKnown(false);
    await pause(60);
    expect(seen).toEqual([false, true]);
  });

  it('gives it another chance after a while', async () => {
    const { check, seen } = scripted([false], 50);
    check.setActive(true);
    await pause(100);
    check.setActive(false);
    await pause(150);
    expect(seen).toEqual([false, true]);
  });
});
