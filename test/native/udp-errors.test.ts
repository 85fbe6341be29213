import { createSocket, type Socket } from 'node:dgram';
import { constants } from 'node:os';
import type { UdpErrorQueue } from '../../plugin/embedded';
import { loadAddon } from '../../plugin/native';
import { describeWith } from '../fixtures/needs';

const { ECONNREFUSED, EADDRINUSE, EINVAL, EBADF } = constants.errno;
const ICMP = { 4: { origin: 2, type: 3, code: 3 }, 6: { origin: 3, type: 1, code: 4 } } as const;

describeWith(['addon'], "the addon's error queue of a UDP socket", () => {
  const open: (() => void)[] = [];
  afterEach(() => {
    for (const close of open.splice(0)) close();
  });

  const make = (): UdpErrorQueue => {
    const { UdpErrors } = loadAddon();
    if (UdpErrors === undefined) throw new Error('an addon without it');
    const errors = new UdpErrors();
    open.push(() => errors.close());
    return errors;
  };

  async function bound(address: string): Promise<{ errors: UdpErrorQueue; socket: Socket }> {
    const errors = make();
    const fd = errors.open(address, 0);
    expect(fd).toBeGreaterThan(0);
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    // libuv tells the error of each report as one of the socket.
    socket.on('error', () => undefined);
    await new Promise<void>((resolve) => socket.bind({ fd }, resolve));
    open.push(() => socket.close());
    expect(errors.adopted()).toBe(0);
    return { errors, socket };
  }

  /** A port that was free a moment ago. */
  async function closedPort(address: string): Promise<number> {
    const socket = createSocket(address.includes(':') ? 'udp6' : 'udp4');
    await new Promise<void>((resolve) => socket.bind(0, address, resolve));
    const { port } = socket.address();
    await new Promise<void>((resolve) => socket.close(resolve));
    return port;
  }

  const send = (socket: Socket, text: string, port: number, address: string): Promise<void> =>
    new Promise((resolve) => {
      socket.send(Buffer.from(text, 'latin1'), port, address, () => setTimeout(resolve, 10));
    });

  it.each(['127.0.0.1', '::1'])(
    'says where a datagram did not arrive, and how it began (%s)',
    async (address) => {
      const { errors, socket } = await bound(address);
      const port = await closedPort(address);
      const text = `INVITE sip:\xff\0@x SIP/2.0\r\n${'x'.repeat(2000)}`;
      await send(socket, text, port, address);
      const reports = errors.read();
      const icmp = ICMP[address.includes(':') ? 6 : 4];
      expect(reports).toEqual([{ address, port, error: ECONNREFUSED, ...icmp, quote: expect.any(String) }]);
      const quote = reports[0]!.quote;
      expect(quote.length).toBeGreaterThan(400);
      expect(quote.length).toBeLessThanOrEqual(576);
      expect(text.startsWith(quote)).toBe(true);
      expect(errors.read()).toEqual([]);
    },
  );

  it('gives 64 reports at once, the oldest first', async () => {
    const { errors, socket } = await bound('127.0.0.1');
    const port = await closedPort('127.0.0.1');
    // Each report makes the next send fail, so that every other one leaves.
    for (let i = 0; i < 200; i += 1) {
      socket.send(`number ${i}`, port, '127.0.0.1', () => undefined);
      socket.send('lost', port, '127.0.0.1', () => undefined);
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
    const first = errors.read();
    expect(first).toHaveLength(64);
    expect(first[0]?.quote).toBe('number 0');
    // Those that are left do not stop what is sent now.
    const failed = await new Promise((resolve) =>
      socket.send('x', socket.address().port, '127.0.0.1', resolve),
    );
    expect(failed).toBeNull();
    let rest = 0;
    for (let read = errors.read(); read.length > 0; read = errors.read()) rest += read.length;
    expect(rest).toBeGreaterThan(64);
  });

  it('leaves the port to nobody else', async () => {
    const { socket } = await bound('127.0.0.1');
    const other = createSocket({ type: 'udp4', reuseAddr: true });
    const failed = new Promise<NodeJS.ErrnoException>((resolve) => other.once('error', resolve));
    other.bind(socket.address().port, '127.0.0.1');
    expect((await failed).code).toBe('EADDRINUSE');
    expect(make().open('127.0.0.1', socket.address().port)).toBe(-EADDRINUSE);
  });

  it('refuses what is no address or port, and is empty before it is open and after it was closed', async () => {
    const errors = make();
    expect(errors.read()).toEqual([]);
    expect(errors.adopted()).toBe(EBADF);
    for (const [address, port] of [
      ['example.com', 5060],
      ['127.0.0.1', 65_536],
      ['127.0.0.1', -1],
      ['127.0.0.1', Number.NaN],
      ['', 5060],
    ] as const) {
      expect(errors.open(address, port)).toBe(-EINVAL);
    }
    const open = errors.open.bind(errors) as (...values: unknown[]) => number;
    expect(() => open()).toThrow('expected (address: string, port: number)');
    expect(() => open(5060, '127.0.0.1')).toThrow('expected (address: string, port: number)');
    const { errors: closed } = await bound('127.0.0.1');
    closed.close();
    closed.close();
    expect(closed.read()).toEqual([]);
  });
});
