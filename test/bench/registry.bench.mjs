// npm run bench -- registry [--json] [--rows N]: the LMDB registry and the cache, beside plain JavaScript maps in the same run.
import { createReadStream, createWriteStream, mkdtempSync, rmSync } from 'node:fs';
import { once } from 'node:events';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const require = createRequire(import.meta.url);
const { openLmdbRegistry } = require('../../dist/registry/lmdb.js');
const { createLookupCache } = require('../../dist/registry/cache.js');
const { importEntries } = require('../../dist/registry/transfer/import.js');

const json = process.argv.includes('--json');
const at = process.argv.indexOf('--rows');
const rows = at < 0 ? 1_000_000 : Number(process.argv[at + 1]);
const RUNS = 5;
const READS = 300_000;
const say = (text) => json || console.log(text);
const median = (list) => [...list].sort((a, b) => a - b)[Math.floor(list.length / 2)];
const keyOf = (n) => `+1202${String(n).padStart(8, '0')}`;
const dir = mkdtempSync(join(tmpdir(), 'dsbc-bench-'));

async function writeFile(file) {
  const out = createWriteStream(file);
  out.write('kind,value,system,customer\n');
  for (let n = 0; n < rows; n += 1000) {
    let text = '';
    for (let m = n; m < Math.min(n + 1000, rows); m += 1)
      text += `account,${keyOf(m)},source,${m < rows / 2 ? '' : `c${m % 997}`}\n`;
    if (!out.write(text)) await once(out, 'drain');
  }
  out.end();
  await once(out, 'close');
}

/** Calls per second of wall time, and of this process's CPU time: a busy machine shows in the first only. */
async function perSecond(count, work) {
  const wall = [];
  const cpu = [];
  for (let run = 0; run < RUNS; run += 1) {
    const begun = performance.now();
    const before = process.cpuUsage();
    await work(count);
    const used = process.cpuUsage(before);
    wall.push((count / (performance.now() - begun)) * 1000);
    cpu.push((count / (used.user + used.system)) * 1e6);
  }
  return { wall: Math.round(median(wall)), cpu: Math.round(median(cpu)) };
}

try {
  const file = join(dir, 'rows.csv');
  await writeFile(file);
  const registry = await openLmdbRegistry({ path: join(dir, 'registry.lmdb') });
  const memory = [];
  const begun = performance.now();
  const imported = await importEntries({
    input: createReadStream(file, { highWaterMark: 262_144 }),
    format: 'csv',
    store: registry,
    onProgress: ({ written }) => written % 50_000 < 500 && memory.push(process.memoryUsage().heapUsed / 1e6),
  });
  const importRate = Math.round(imported.written / ((performance.now() - begun) / 1000));
  say(`import: ${imported.written} rows, ${importRate} rows/s (bar 50,000)`);

  let seed = 1;
  const random = () => (seed = (seed * 1103515245 + 12345) & 0x7fffffff) % rows;
  const half = Math.floor(rows / 2);
  const reads = (from) =>
    perSecond(READS, async (count) => {
      for (let n = 0; n < count; n += 1)
        await registry.lookup({ kind: 'account', value: keyOf(from + (random() % half)) });
    });
  const lmdb = await reads(0);
  // Each of these reads a customer as well.
  const withCustomer = await reads(half);
  const map = new Map(Array.from({ length: Math.min(rows, 1_000_000) }, (_, n) => [keyOf(n), n]));
  const baseline = await perSecond(READS, async (count) => {
    for (let n = 0; n < count; n += 1) await map.get(keyOf(random() % map.size));
  });
  say(
    `LMDB look-up among ${rows}: ${lmdb.wall}/s, ${lmdb.cpu} per CPU second (bar 300,000); ` +
      `of a customer's ${withCustomer.wall}/s; a Map in the same loop: ${baseline.wall}/s`,
  );

  const cache = createLookupCache({ load: registry, options: { maxEntries: 100_000 } });
  for (let n = 0; n < 100_000; n += 1) await cache.lookup({ kind: 'account', value: keyOf(n) });
  const hits = await perSecond(READS, async (count) => {
    for (let n = 0; n < count; n += 1) await cache.lookup({ kind: 'account', value: keyOf(n % 100_000) });
  });
  let found = 0;
  const peeks = await perSecond(READS, (count) => {
    for (let n = 0; n < count; n += 1)
      if (cache.peek({ kind: 'account', value: keyOf(n % 100_000) })) found += 1;
  });
  if (found !== RUNS * READS) throw new Error('the cache forgot something');
  say(`cache: lookup ${hits.wall}/s (${hits.cpu} per CPU second), peek ${peeks.wall}/s`);

  let asked = 0;
  const cold = createLookupCache({
    load: { lookup: async () => ((asked += 1), { kind: 'account', system: 'source' }) },
    options: { maxEntries: 1000 },
  });
  await Promise.all(Array.from({ length: 10_000 }, () => cold.lookup({ kind: 'account', value: 'cold' })));
  say(`10,000 concurrent look-ups of one cold key: ${asked} query (bar 1)`);
  await registry.close();
  const heap = { first_mb: Math.round(memory[1] ?? 0), largest_mb: Math.round(Math.max(...memory)) };
  if (json)
    console.log(
      JSON.stringify({
        rows,
        import_rows_per_s: importRate,
        import_heap: heap,
        lmdb,
        lmdb_with_customer: withCustomer,
        map: baseline,
        cache: hits,
        peek: peeks,
        cold_key_queries: asked,
      }),
    );
  else say(`heap while importing: ${heap.first_mb} MB early, at most ${heap.largest_mb} MB`);
} finally {
  rmSync(dir, { recursive: true });
}
