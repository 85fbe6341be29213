import { execFile } from 'node:child_process';
import { promisify } from 'node:util';

const run = promisify(execFile);

interface Report {
  readonly verdict: string;
  readonly checks: readonly { name: string; ok: boolean; detail: string }[];
  readonly sites: Readonly<Record<string, Readonly<Record<string, number>>>>;
}

describe('dsbc demo', () => {
  it('passes every check and ends with one line of JSON', async () => {
    const { stdout } = await run(process.execPath, ['dist/cli/main.js', 'demo', '--json'], {
      timeout: 120_000,
    });
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
