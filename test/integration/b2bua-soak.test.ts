import { spawn } from 'node:child_process';
import { join } from 'node:path';
import { builtPlugin } from '../fixtures/ha/built';
import { sipServerKind } from '../fixtures/sip-server';

/*
 * test/bench/b2bua.bench.mjs in short. At full size (10 minutes at 100 calls/s):
 * DSBC_SOAK_SECONDS=600 DSBC_SOAK_RATE=100 npx jest test/integration/b2bua-soak.test.ts
 */
const seconds = Number(process.env['DSBC_SOAK_SECONDS'] ?? 10);
const rate = Number(process.env['DSBC_SOAK_RATE'] ?? 30);

interface Soak {
  readonly seed: number;
  readonly calls: number;
  readonly packets: { readonly lost: number };
  readonly outcomes: Record<string, number>;
  readonly leaks: Record<string, number>;
  readonly faults: Record<string, number>;
  readonly examples: readonly string[];
}

const soak = (): Promise<Soak> =>
  new Promise((resolve, reject) => {
    const bench = join(__dirname, '../bench/b2bua.bench.mjs');
    const args = ['--seconds', String(seconds), '--rate', String(rate), '--failover', '0', '--json'];
    const child = spawn(process.execPath, ['--expose-gc', bench, ...args], {
      env: { ...process.env, DSBC_DIST: builtPlugin() },
    });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    child.stderr.on('data', (chunk: Buffer) => (errors += chunk.toString()));
    child.once('exit', () => {
      try {
        resolve(JSON.parse(output) as Soak);
      } catch {
        reject(new Error(`the bench gave no result: ${errors}`));
      }
    });
  });

it(
  `on ${sipServerKind}: calls that are cancelled, hung up and re-INVITEd at random over a lossy network leave nothing behind`,
  async () => {
    const { seed, calls, packets, outcomes, leaks, faults, examples } = await soak();
    expect(calls).toBeGreaterThan(0.95 * seconds * rate);
    expect(packets.lost).toBeGreaterThan(0);
    expect(outcomes['200']).toBeGreaterThan(0.4 * calls);
    const left = Object.entries(leaks).filter(([, count]) => count > 0);
    expect({ seed, left, faults, examples }).toMatchObject({ left: [], faults: {} });
    expect(Object.keys(faults)).toEqual([]);
  },
  (seconds + 120) * 1000,
);
