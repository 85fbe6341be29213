// The SIP server under load: drachtio-server if DRACHTIO_BIN names one, else the embedded server.
import { spawn } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export const freePort = (address) =>
  new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, address, () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });

/** Starts drachtio-server on loopback; resolves when it listens. */
export async function startDrachtio(bin, address, port, controlPort) {
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-drachtio-'));
  const config = join(folder, 'drachtio.conf.xml');
  writeFileSync(
    config,
    `<drachtio><admin port="${controlPort}" secret="cymru">127.0.0.1</admin></drachtio>\n`,
  );
  const child = spawn(
    bin,
    [
      '-f',
      config,
      '--address',
      '127.0.0.1',
      '--port',
      String(controlPort),
      '--secret',
      'cymru',
      '--loglevel',
      'info',
      '--contact',
      `sip:${address}:${port};transport=udp,tcp`,
    ],
    { stdio: 'ignore' },
  );
  // Its log is buffered when it is not a terminal, so knock at the ports instead; SIP comes after admin.
  await listens('127.0.0.1', controlPort);
  await listens(address, port);
  return stoppable(child);
}

async function listens(host, port) {
  for (let attempt = 0; attempt < 100; attempt += 1) {
    const open = await new Promise((resolve) => {
      const socket = connect(port, host, () => resolve(true));
      socket.once('error', () => resolve(false));
      socket.once('connect', () => socket.destroy());
    });
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`nothing listens on ${host}:${port}`);
}

/** Starts a Node program and waits for a line on its standard output. */
export async function startNode(args, ready, env = {}) {
  const child = spawn(process.execPath, args, {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { ...process.env, ...env },
  });
  await waitFor(child, ready);
  return stoppable(child);
}

function waitFor(child, line) {
  return new Promise((resolve, reject) => {
    let seen = '';
    const timer = setTimeout(() => reject(new Error(`not ready in 15 s: ${seen.slice(-500)}`)), 15_000);
    child.stdout.on('data', (chunk) => {
      if (seen === undefined) return;
      seen += String(chunk);
      if (!seen.includes(line)) return;
      clearTimeout(timer);
      seen = undefined;
      resolve();
    });
    child.once('exit', (code) => reject(new Error(`exited with ${code}: ${seen}`)));
  });
}

function stoppable(child) {
  const done = new Promise((resolve) => child.once('exit', resolve));
  return {
    pid: child.pid,
    stop: async () => {
      child.kill('SIGTERM');
      const timer = setTimeout(() => child.kill('SIGKILL'), 5000);
      await done;
      clearTimeout(timer);
    },
  };
}
