import type { RegistryEntry } from '../registry/registry';
import { EXIT, UsageError, type Io } from './command';
import { configFile, configOption, parseOptions } from './options';
import type { WithRegistry } from './registry-transfer';

/** Keys that are read, and questions under way at once. */
const DEFAULT_KEYS = 10_000;
const CONCURRENCY = 64;
const SECONDS = 3;

/** Reads stored keys in random order for a few seconds and says how many per second, and how long one takes. */
export async function benchRegistry(
  argv: readonly string[],
  io: Io,
  withRegistry: WithRegistry,
): Promise<number> {
  const { values } = parseOptions(argv, {
    ...configOption,
    keys: { type: 'string' },
    json: { type: 'boolean' },
  });
  const wanted = Number(values.keys ?? DEFAULT_KEYS);
  if (!Number.isInteger(wanted) || wanted < 1) throw new UsageError('--keys is a number of keys');
  return withRegistry(configFile(values), async (registry) => {
    const keys: RegistryEntry[] = [];
    for await (const entry of registry.entries()) if (keys.push(entry) >= wanted) break;
    if (keys.length === 0) {
      io.err('the registry is empty: there is nothing to read\n');
      return EXIT.failed;
    }
    const times: number[] = [];
    const begun = performance.now();
    const end = begun + SECONDS * 1000;
    const reader = async (): Promise<void> => {
      while (!io.signal.aborted && performance.now() < end) {
        const key = keys[Math.floor(Math.random() * keys.length)];
        if (key === undefined) return;
        const asked = performance.now();
        await registry.lookup(key);
        times.push(performance.now() - asked);
      }
    };
    await Promise.all(Array.from({ length: registry.driver === 'lmdb' ? 1 : CONCURRENCY }, reader));
    const seconds = (performance.now() - begun) / 1000;
    times.sort((a, b) => a - b);
    const at = (part: number): number => times[Math.floor((times.length - 1) * part)] ?? 0;
    if (keys.length < wanted && values.json !== true)
      io.err(
        `the registry has only ${keys.length} of ${wanted} keys: read over and over, they say less than many would\n`,
      );
    const result = {
      driver: registry.driver,
      keys: keys.length,
      keys_wanted: wanted,
      per_second: Math.round(times.length / seconds),
      p50_ms: Number(at(0.5).toFixed(4)),
      p99_ms: Number(at(0.99).toFixed(4)),
    };
    io.out(
      values.json === true
        ? `${JSON.stringify(result)}\n`
        : `${result.per_second} look-ups/s on ${result.driver}, ${result.keys} keys, p50 ${result.p50_ms} ms, p99 ${result.p99_ms} ms\n`,
    );
    return EXIT.ok;
  });
}
