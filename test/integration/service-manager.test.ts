import { spawn } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { builtPlugin } from '../fixtures/ha/built';
import { describeWith } from '../fixtures/needs';
import { freePort } from '../fixtures/sip-endpoint';

const WATCHDOG_MS = 3000;
/** Receives datagrams of a socket in the file system, which Node cannot, and prints each with its time. */
const LISTENER = `
import socket, sys, time
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
s.bind(sys.argv[1])
print('listening', flush=True)
while True:
    for line in s.recv(4096).decode().split('\\n'):
        print(time.monotonic(), line, flush=True)
`;

/** systemd's side of Type=notify and WatchdogSec (sd_notify(3)), played with a socket; systemd-notify is the real one. */
describeWith(['systemd-notify', 'python3'], 'dsbc run as a service of systemd', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-service-'));
  const children: ChildProcess[] = [];
  afterAll(() => {
    for (const child of children) child.kill('SIGKILL');
    rmSync(folder, { recursive: true });
  });
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
  const outputOf = (child: ChildProcess): (() => string) => {
    let text = '';
    for (const stream of [child.stdout, child.stderr])
      stream?.on('data', (chunk: Buffer) => (text += chunk.toString()));
    return () => text;
  };
  const until = async (what: string, wanted: () => boolean, withinMs = 15_000): Promise<void> => {
    for (let waited = 0; !wanted(); waited += 20) {
      if (waited > withinMs) throw new Error(`no ${what} within ${withinMs} ms`);
      await pause(20);
    }
  };

  it('says READY once it serves, gives signs of life in time, none while it hangs, and STOPPING at the end', async () => {
    const socket = join(folder, 'notify');
    const listener = spawn('python3', ['-c', LISTENER, socket]);
    children.push(listener);
    const heard = outputOf(listener);
    await until('listener', () => heard().includes('listening'));
    const config = join(folder, 'dsbc.yaml');
    writeFileSync(
      config,
      JSON.stringify({
        instance: 'one',
        domains: ['example.com'],
        sip_servers: [
          { name: 'main', server: 'embedded', entry: { address: '127.0.0.1', port: await freePort() } },
        ],
        default_system: 's',
        systems: { s: { sites: { main: { nodes: [{ uri: 'sip:127.0.0.1:9' }] } } } },
        registry: { driver: 'memory' },
        admin: { enabled: false },
      }),
    );
    const program = spawn(process.execPath, [join(builtPlugin(), 'cli/main.js'), 'run', '-c', config], {
      env: { ...process.env, NOTIFY_SOCKET: socket, WATCHDOG_USEC: String(WATCHDOG_MS * 1000) },
    });
    children.push(program);
    const said = outputOf(program);
    const count = (word: string): number => heard().split(`${word}\n`).length - 1;

    await until('READY=1', () => count('READY=1') === 1);
    // Lines of the log are gathered for 50 ms.
    await until('serving', () => said().includes('"msg":"serving"'));
    await until('signs of life', () => count('WATCHDOG=1') >= 5);
    const times = [...heard().matchAll(/([\d.]+) WATCHDOG=1/g)].map(([, time]) => Number(time) * 1000);
    // Half the interval is what sd_watchdog_enabled(3) advises; a busy machine may be late.
    for (const [index, time] of times.slice(1).entries())
      expect(time - times[index]!).toBeLessThan(WATCHDOG_MS);

    program.kill('SIGSTOP');
    await pause(500);
    const before = count('WATCHDOG=1');
    await pause(WATCHDOG_MS);
    expect(count('WATCHDOG=1')).toBe(before);
    program.kill('SIGCONT');
    await until('signs of life again', () => count('WATCHDOG=1') > before);

    const ended = new Promise((resolve) => program.once('exit', resolve));
    program.kill('SIGTERM');
    expect(await ended).toBe(0);
    await until('STOPPING=1', () => count('STOPPING=1') === 1);
    expect(count('READY=1')).toBe(1);
  }, 60_000);

  it('asks for what it uses in the unit of the examples', () => {
    const unit = readFileSync('config-examples/system/dsbc.service', 'utf8');
    for (const line of ['Type=notify', 'NotifyAccess=all', 'WatchdogSec=10'])
      expect(unit).toContain(`\n${line}\n`);
    const granted = /^AmbientCapabilities=(.*)$/m.exec(unit)?.[1];
    expect(granted?.split(' ').sort()).toEqual(['CAP_NET_ADMIN', 'CAP_NET_RAW']);
  });
});
