import { createSocket } from 'node:dgram';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { createServer as createTcpServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { createServer as createTlsServer } from 'node:tls';
import { createLog, type LogSettings } from '../../plugin/telemetry/log';
import { Syslog } from '../../plugin/telemetry/syslog';
import { syslogDatagram, syslogMessage } from '../../plugin/telemetry/syslog-message';
import { tlsIdentity } from '../fixtures/tls-identity';

const syslogWorkerFile = resolve(__dirname, '../fixtures/syslog-worker.cjs');
const header = { facility: 'local0', hostname: 'host', appName: 'dsbc', processId: 42 };

const until = async (done: () => boolean, ms = 8000): Promise<void> => {
  const end = Date.now() + ms;
  while (!done()) {
    if (Date.now() > end) throw new Error('not in time');
    await new Promise((r) => setTimeout(r, 10));
  }
};

/** Takes octet-counted frames apart. */
class Frames {
  readonly messages: string[] = [];
  #rest = Buffer.alloc(0);
  take(chunk: Buffer): void {
    this.#rest = Buffer.concat([this.#rest, chunk]);
    for (;;) {
      const space = this.#rest.indexOf(0x20);
      const length = Number(this.#rest.subarray(0, space).toString());
      if (space < 0 || this.#rest.length < space + 1 + length) return;
      this.messages.push(this.#rest.subarray(space + 1, space + 1 + length).toString());
      this.#rest = this.#rest.subarray(space + 1 + length);
    }
  }
}

const listen = (server: Server, port = 0): Promise<number> =>
  new Promise((done, failed) => {
    server.once('error', failed);
    server.listen(port, '127.0.0.1', () => done((server.address() as AddressInfo).port));
  });

describe('syslogMessage', () => {
  it('is RFC 5424 with the level as severity', () => {
    const line = '{"level":"warn","time":"2026-11-30T03:00:00.000Z","msg":"é"}';
    expect(syslogMessage(line, header).toString()).toBe(
      `<132>1 2026-11-30T03:00:00.000Z host dsbc 42 - - ${line}`,
    );
    expect(syslogMessage('no json', header).toString()).toBe('<134>1 - host dsbc 42 - - no json');
  });

  it('fits into a datagram', () => {
    expect(syslogDatagram(syslogMessage('x'.repeat(100_000), header))).toHaveLength(8192);
  });
});

describe('a log with a LogServer', () => {
  const closers: (() => unknown)[] = [];
  afterEach(async () => {
    for (const close of closers.splice(0).reverse()) await close();
  });

  const said: { msg: string; reason?: string; server?: string; dropped?: number }[] = [];
  const logTo = (syslog: Partial<NonNullable<LogSettings['syslog']>>) => {
    said.length = 0;
    const log = createLog(
      {
        level: 'info',
        mask_numbers: false,
        syslog: {
          host: '127.0.0.1',
          protocol: 'udp',
          facility: 'local0',
          app_name: 'dsbc',
          buffer_lines: 1000,
          ...syslog,
        },
      },
      {
        instance: 'dsbc-1',
        write: (line) => said.push(JSON.parse(line) as (typeof said)[number]),
        syslogWorkerFile,
      },
    );
    closers.push(() => log.close());
    return log;
  };
  const frameServer = async (make: (onSocket: (socket: Socket) => void) => Server, port = 0) => {
    const frames = new Frames();
    const sockets = new Set<Socket>();
    const server = make((socket) => {
      sockets.add(socket);
      socket.on('data', (chunk: Buffer) => frames.take(chunk));
      socket.on('error', () => undefined);
    });
    const stop = () =>
      new Promise<void>((done) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => done());
      });
    closers.push(stop);
    return { frames, port: await listen(server, port), stop };
  };

  it('sends each line over UDP', async () => {
    const received: string[] = [];
    const socket = createSocket('udp4', (message) => received.push(message.toString()));
    const port = await new Promise<number>((done) =>
      socket.bind(0, '127.0.0.1', () => done(socket.address().port)),
    );
    closers.push(() => socket.close());
    logTo({ port }).logger.info({ callId: 'c1' }, 'hello');
    await until(() => received.length === 1);
    expect(received[0]).toMatch(/^<134>1 \d{4}-\S+Z \S+ dsbc \d+ - - \{"level":"info".*"msg":"hello"\}$/);
  });

  it('sends lines over TCP with octet counting, whatever is in them', async () => {
    const { frames, port } = await frameServer((onSocket) => createTcpServer(onSocket));
    const { logger } = logTo({ port, protocol: 'tcp' });
    for (let i = 0; i < 200; i++) logger.info({ i, text: 'ü\n12 34' }, 'x');
    await until(() => frames.messages.length === 200);
    expect(frames.messages[199]).toContain('"i":199');
  });

  it('sends lines over TLS, checked against the configured CA', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'dsbc-syslog-'));
    closers.push(() => rmSync(dir, { recursive: true }));
    const ca_file = join(dir, 'ca.pem');
    writeFileSync(ca_file, tlsIdentity.cert);
    const { frames, port } = await frameServer((onSocket) => createTlsServer(tlsIdentity, onSocket));
    logTo({ port, protocol: 'tls', ca_file }).logger.info({}, 'over tls');
    const stranger = logTo({ port, protocol: 'tls' });
    stranger.logger.info({}, 'never arrives');
    await until(() => frames.messages.length === 1);
    await until(() => stranger.logServerTrouble() !== '');
    expect(stranger.logServerTrouble()).toContain('self-signed');
    await stranger.close();
    // This one, and that the LogServer is not reached.
    expect(stranger.dropped()).toBe(2);
    expect(frames.messages).toEqual([expect.stringContaining('over tls')]);
  });

  it('keeps lines while the LogServer is away and sends them when it is back', async () => {
    const first = await frameServer((onSocket) => createTcpServer(onSocket));
    const log = logTo({ port: first.port, protocol: 'tcp' });
    log.logger.info({}, 'one');
    await until(() => first.frames.messages.length === 1);
    await first.stop();
    await new Promise((r) => setTimeout(r, 100));
    for (let i = 0; i < 50; i++) log.logger.info({ i }, 'meanwhile');
    await new Promise((r) => setTimeout(r, 300));
    const second = await frameServer((onSocket) => createTcpServer(onSocket), first.port);
    // And what the log itself says of the loss.
    await until(() => second.frames.messages.length >= 51);
    expect(second.frames.messages.filter((line) => line.includes('meanwhile'))).toHaveLength(50);
    expect(log.dropped()).toBe(0);
  });

  it.each(['tcp', 'udp'] as const)('says once that the LogServer is not reached (%s)', async (protocol) => {
    const dead = await frameServer((onSocket) => createTcpServer(onSocket));
    await dead.stop();
    const log = logTo({ port: dead.port, protocol });
    expect(log.logServerTrouble()).toBe('');
    log.logger.info({}, 'x');
    await until(() => log.logServerTrouble() !== '');
    log.logger.info({}, 'y');
    await new Promise((r) => setTimeout(r, 400));
    expect(said.map(({ msg }) => msg)).toEqual([
      'x',
      'LogServer not reached: lines wait for it, trying on',
      'y',
    ]);
    expect(said[1]).toMatchObject({
      server: `127.0.0.1:${dead.port}`,
      reason: expect.stringContaining('ECONNREFUSED') as string,
    });
    expect(log.logServerTrouble()).toContain('ECONNREFUSED');
  });

  it('says that the LogServer was lost, and is back when its connection has held', async () => {
    const first = await frameServer((onSocket) => createTcpServer(onSocket));
    const log = logTo({ port: first.port, protocol: 'tcp' });
    log.logger.info({}, 'x');
    await until(() => first.frames.messages.length === 1);
    await first.stop();
    await until(() => said.length === 2);
    const second = await frameServer((onSocket) => createTcpServer(onSocket), first.port);
    await until(() => said.length === 3);
    expect(said[2]).toMatchObject({ msg: 'LogServer reached again', dropped: 0 });
    expect(log.logServerTrouble()).toBe('');
    await until(() => second.frames.messages.length === 2);
    expect(second.frames.messages[0]).toContain('LogServer not reached');
  });

  it('drops and counts lines beyond its buffer while the LogServer is dead, and logging costs no more', async () => {
    const dead = await frameServer((onSocket) => createTcpServer(onSocket));
    await dead.stop();
    const log = logTo({ port: dead.port, protocol: 'tcp', buffer_lines: 100 });
    for (let round = 0; round < 20; round++) {
      for (let i = 0; i < 100; i++) log.logger.info({ i }, 'x');
      await new Promise((r) => setTimeout(r, 20));
    }
    // One line more: that the LogServer is not reached.
    await until(() => log.dropped() >= 1901);
    expect(log.dropped()).toBe(1901);
    await log.close();
    expect(log.dropped()).toBe(2001);
  });

  it('goes on after its worker died', async () => {
    const { frames, port } = await frameServer((onSocket) => createTcpServer(onSocket));
    const crash = new Syslog(
      { host: '127.0.0.1', port, protocol: 'tcp', bufferLines: 100, header },
      crashOnce(),
    );
    closers.push(() => crash.close());
    crash.write('lost');
    await until(() => crash.dropped === 1);
    crash.write('kept by nobody while there is no worker');
    await until(() => crash.dropped === 2);
    await new Promise((r) => setTimeout(r, 1200));
    crash.write('after');
    await until(() => frames.messages.length === 1);
    expect(frames.messages[0]).toContain('after');
  });

  /** A worker file that dies on its first message the first time it runs. */
  function crashOnce(): string {
    const dir = mkdtempSync(join(tmpdir(), 'dsbc-worker-'));
    closers.push(() => rmSync(dir, { recursive: true }));
    const file = join(dir, 'worker.cjs');
    writeFileSync(
      file,
      `const fs = require('node:fs'); const mark = ${JSON.stringify(join(dir, 'ran'))};
       if (fs.existsSync(mark)) require(${JSON.stringify(syslogWorkerFile)});
       else { fs.writeFileSync(mark, ''); require('node:worker_threads').parentPort.on('message', () => process.exit(1)); }`,
    );
    return file;
  }
});
