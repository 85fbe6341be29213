import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createWriteStream, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { initialiseCassandra } from '../../plugin/registry/cassandra/initialise';
import { openCassandraRegistry } from '../../plugin/registry/cassandra/registry';
import { openLmdbRegistry } from '../../plugin/registry/lmdb';
import type { Registry } from '../../plugin/registry/registry';
import { dropKeyspace } from '../fixtures/cassandra/keyspace';
import { sharedCassandra } from '../fixtures/cassandra/shared';
import { DsbcProcess } from '../fixtures/dsbc-process';
import { noteFigure } from '../fixtures/figures';
import { describeWith } from '../fixtures/needs';

/**
 * An import that is interrupted (SIGINT), killed (SIGKILL) and started a third time. Short unless DSBC_TEST_FULL=1: then it is
 * 1,000,000 rows into LMDB and 100,000 into Cassandra, which takes about two minutes.
 */
const FULL = process.env['DSBC_TEST_FULL'] === '1';
/** One line in so many is bad. */
const BAD_EVERY = 997;
/** Node ends a process that needs more MB for what lives longer: with a leak a million rows don't fit. */
const LITTLE_MEMORY = { NODE_OPTIONS: '--max-old-space-size=80' };
/** Beyond what it has taken in its first part, the process may take so many MB more. */
const GROWTH_MB = 100;

const REASONS = [
  ['phone,1,source', 'kind must be one of account, did, customer'],
  ['account,1', '2 fields instead of 3'],
  ['account,"1,source', 'quotes do not match'],
] as const;

/** Writes the file; resolves to the rejections that must be reported. */
async function writeRows(file: string, rows: number): Promise<string[]> {
  const out = createWriteStream(file);
  const bad: string[] = [];
  let text = 'kind,value,system\n';
  for (let n = 0, line = 2; n < rows; line += 1) {
    if (line % BAD_EVERY === 0) {
      const [content, reason] = REASONS[(line / BAD_EVERY) % REASONS.length]!;
      bad.push(`line ${line}: ${reason}: ${content}`);
      text += `${content}\n`;
    } else {
      text += `account,+1202${String(n).padStart(8, '0')},${n % 2 === 0 ? 'source' : 'target'}\n`;
      n += 1;
    }
    if (text.length > 1_000_000) {
      if (!out.write(text)) await once(out, 'drain');
      text = '';
    }
  }
  out.end(text);
  await once(out, 'close');
  return bad;
}

interface Store {
  /** The `registry` section of a configuration. */
  readonly section: string;
  open(): Promise<Registry>;
}

async function importTwiceInterrupted(store: Store, rows: number, dir: string, name: string): Promise<void> {
  const config = join(dir, 'dsbc.yaml');
  writeFileSync(
    config,
    `domains: [example.com]
sip_servers: [{ name: main, server: embedded, entry: { address: 127.0.0.1, port: 5060 } }]
systems: { source: { sites: { main: { nodes: [{ uri: 'sip:127.0.0.2:5060' }] } } } }
registry: ${store.section}
`,
  );
  const file = join(dir, 'rows.csv');
  const bad = await writeRows(file, rows);
  const lines = rows + bad.length + 1;
  const progress = (): number => {
    if (!existsSync(`${file}.progress`)) return 0;
    const { position } = JSON.parse(readFileSync(`${file}.progress`, 'utf8')) as {
      position: { lines: number };
    };
    return position.lines;
  };
  let memory: number[] = [];
  /** Runs the import, ends it by the signal when so many lines are stored, and notes its memory. */
  const run = async (signal?: NodeJS.Signals, at = 0): Promise<DsbcProcess> => {
    const process = new DsbcProcess(['registry', 'import', file, '-c', config, '--json'], LITTLE_MEMORY);
    const before = progress();
    let sent = false;
    memory = [];
    while (process.isAlive()) {
      await new Promise((r) => setTimeout(r, 10));
      if (!process.isAlive()) break;
      const stored = progress();
      if (stored > before) memory.push(process.residentMb);
      if (signal !== undefined && !sent && stored >= at) {
        process.signal(signal);
        sent = true;
      }
    }
    await process.ended;
    return process;
  };

  const interrupted = await run('SIGINT', FULL ? lines * 0.2 : 1);
  expect([interrupted.stdout, interrupted.stderr]).toEqual([
    expect.stringContaining('{'),
    expect.any(String),
  ]);
  expect(JSON.parse(interrupted.stdout)).toMatchObject({ interrupted: true });
  const first = progress();
  expect(first).toBeGreaterThan(1);
  expect(first).toBeLessThan(lines);
  const killed = await run('SIGKILL', FULL ? lines * 0.5 : first + 1);
  expect(killed.stderr).toContain(`going on after line ${first}`);
  const second = progress();
  expect(second).toBeGreaterThan(first);
  expect(second).toBeLessThan(lines);
  const begun = performance.now();
  const last = await run();
  const seconds = (performance.now() - begun) / 1000;
  expect(last.stderr).toContain(`going on after line ${second}`);
  expect(JSON.parse(last.stdout)).toMatchObject({
    lines,
    written: rows,
    rejected: bad.length,
    interrupted: false,
  });
  expect(readFileSync(`${file}.rejected`, 'utf8').trimEnd().split('\n')).toEqual(bad);
  expect(existsSync(`${file}.progress`)).toBe(false);

  const registry = await store.open();
  let stored = 0;
  for await (const { system, value } of registry.entries()) {
    if (system === (Number(value.at(-1)) % 2 === 0 ? 'source' : 'target')) stored += 1;
  }
  await registry.close();
  expect(stored).toBe(rows);

  memory = memory.filter((mb) => mb > 0);
  const early = memory.slice(0, Math.ceil(memory.length / 4));
  const later = memory.slice(Math.ceil(memory.length / 4));
  noteFigure(`import of ${rows} rows to ${name}`, {
    interruptedAfter: [first, second],
    lastRunSeconds: seconds,
    memoryMb: Array.from({ length: 11 }, (_, n) =>
      Math.round(memory[Math.floor(((memory.length - 1) * n) / 10)]!),
    ),
  });
  expect(Math.max(...later) - Math.max(...early)).toBeLessThan(GROWTH_MB);
}

describe('an import to LMDB that is interrupted and killed', () => {
  it('goes on where it was: exact counts, each bad line reported once, flat memory', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'dsbc-import-'));
    const path = join(dir, 'registry.lmdb');
    const store = { section: `{ driver: lmdb, path: ${path} }`, open: () => openLmdbRegistry({ path }) };
    try {
      await importTwiceInterrupted(store, FULL ? 1_000_000 : 150_000, dir, 'LMDB');
    } finally {
      rmSync(dir, { recursive: true });
    }
  }, 300_000);
});

describeWith(['cassandra'], 'an import to Cassandra that is interrupted and killed', () => {
  it('goes on where it was: exact counts, each bad line reported once, flat memory', async () => {
    const dir = mkdtempSync(join(tmpdir(), 'dsbc-import-'));
    const contactPoint = await sharedCassandra();
    const keyspace = `t${randomUUID().replaceAll('-', '')}`;
    const options = {
      contactPoints: [contactPoint],
      localDatacenter: 'datacenter1',
      replication: { datacenter1: 1 },
      keyspace,
    };
    await initialiseCassandra(options);
    const store = {
      section: `{ driver: cassandra, contact_points: ['${contactPoint}'], local_datacenter: datacenter1, keyspace: ${keyspace} }`,
      open: () => openCassandraRegistry(options, { mustConnect: true }),
    };
    try {
      await importTwiceInterrupted(store, FULL ? 100_000 : 15_000, dir, 'Cassandra');
    } finally {
      await dropKeyspace(contactPoint, keyspace);
      rmSync(dir, { recursive: true });
    }
  }, 400_000);
});
