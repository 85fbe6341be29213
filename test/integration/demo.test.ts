import { execFile, spawn } from 'node:child_process';
import { promisify } from 'node:util';
import { main } from '../../plugin/cli/main';
import { RecordedIo } from '../fixtures/io';

const run = promisify(execFile);

interface Report {
  readonly verdict: string;
  readonly checks: readonly { name: string; ok: boolean; detail: string }[];
  readonly sites: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

describe('dsbc demo', () => {
  it('passes every check, ends with one line of JSON, and is there to be tried', async () => {
    const program = spawn(process.execPath, ['dist/cli/main.js', 'demo', '--json', '--keep', '--port', '0']);
    const ended = new Promise<number | null>((resolve) => program.once('exit', resolve));
    let stdout = '';
    let stderr = '';
    program.stdout.on('data', (data: Buffer) => (stdout += data.toString()));
    const isKept = new Promise<void>((resolve) =>
      program.stderr.on('data', (data: Buffer) => {
        stderr += data.toString();
        if (stderr.includes('npx dsbc flows\n')) resolve();
      }),
    );
    try {
      await Promise.race([isKept, ended]);
      const lines = stdout.trim().split('\n');
      expect(lines).toHaveLength(1);
      const report = JSON.parse(lines[0] ?? '') as Report;
      expect(report.checks.filter((check) => !check.ok)).toEqual([]);
      expect(report.checks.length).toBeGreaterThan(20);
      expect(report.verdict).toBe('pass');
      expect(Object.keys(report.sites)).toEqual([
        'source/main',
        'source/secondary',
        'target/main',
        'target/secondary',
      ]);

      const url = /export DSBC_ADMIN_URL=(\S+)/.exec(stderr)?.[1] ?? '';
      const page = await fetch(/the live page: (\S+)/.exec(stderr)?.[1] ?? '');
      expect([page.status, page.headers.get('content-type')]).toEqual([200, 'text/html; charset=utf-8']);
      const commands = [...stderr.matchAll(/^ +npx dsbc (.+)$/gm)].map(([, words = '']) => words.split(' '));
      expect(commands.length).toBeGreaterThan(3);
      for (const words of commands) {
        const io = new RecordedIo();
        expect([words, await main([...words, '--url', url], io), io.stderr]).toEqual([words, 0, '']);
      }
    } finally {
      program.kill('SIGINT');
    }
    expect(await ended).toBe(0);
  }, 130_000);

  it('says what is wrong with its options and exits with 2', async () => {
    await expect(run(process.execPath, ['dist/cli/main.js', 'demo', '--port', 'x'])).rejects.toMatchObject({
      code: 2,
      stderr: expect.stringContaining('--port') as string,
    });
  });

  it('says which port is taken and exits with 4', async () => {
    const { createSocket } = await import('node:dgram');
    const socket = createSocket('udp4');
    await new Promise<void>((done) => socket.bind(0, '127.0.0.1', done));
    const { port } = socket.address();
    await expect(
      run(process.execPath, ['dist/cli/main.js', 'demo', '--port', String(port)]),
    ).rejects.toMatchObject({ code: 4, stderr: expect.stringContaining(`127.0.0.1:${port}`) as string });
    socket.close();
  });
});
