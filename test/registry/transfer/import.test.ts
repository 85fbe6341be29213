import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { DsbcError } from '../../../plugin/errors';
import { createMemoryRegistry } from '../../../plugin/registry/memory';
import type { Registry, RegistryEntry } from '../../../plugin/registry/registry';
import { splitCsvLine, csvField } from '../../../plugin/registry/transfer/csv';
import { exportEntries } from '../../../plugin/registry/transfer/export';
import { importEntries } from '../../../plugin/registry/transfer/import';
import type { ImportOptions, ImportPosition } from '../../../plugin/registry/transfer/import';
import { SeenKeys } from '../../../plugin/registry/transfer/seen-keys';

/** The file as a stream of small chunks, which cut lines anywhere. */
async function* chunks(text: string, size = 7, offset = 0): AsyncGenerator<Buffer> {
  const bytes = Buffer.from(text).subarray(offset);
  for (let at = 0; at < bytes.length; at += size) {
    yield Buffer.from(bytes.subarray(at, at + size));
    await Promise.resolve();
  }
}

async function all<T>(items: AsyncIterable<T>): Promise<T[]> {
  const list: T[] = [];
  for await (const item of items) list.push(item);
  return list;
}

async function bring(text: string, store: Registry, more: Partial<ImportOptions> = {}) {
  const rejected: [number, string][] = [];
  const result = await importEntries({
    input: chunks(text, 7, more.resume?.offset ?? 0),
    format: 'csv',
    store,
    onRejected: (line, reason) => rejected.push([line, reason]),
    ...more,
  });
  return { ...result, rejections: rejected };
}

const row = (n: number): RegistryEntry => ({ kind: 'account', value: `${n}`, system: 'source' });
const csv = (count: number) =>
  `kind,value,system\n${Array.from({ length: count }, (_, n) => `account,${n},source\n`).join('')}`;

describe('an import', () => {
  let store: Registry;
  beforeEach(() => (store = createMemoryRegistry()));

  it('rejects names with blanks at their ends, which no request has', async () => {
    const text =
      'kind,value,system,customer\naccount," 6 ",source,\naccount,7,source ,\naccount,8,source, K1\n';
    const { written, rejections } = await bring(text, store);
    const why = (field: string) =>
      expect.stringMatching(`entry: ${field} must be .* without blanks at its ends`);
    expect(written).toBe(0);
    expect(rejections).toEqual([
      [2, why('value')],
      [3, why('system')],
      [4, why('customer')],
    ]);
  });

  it('reads CSV with columns in any order, quotes, CRLF, a byte order mark and no last line end', async () => {
    const result = await bring(
      '\ufeffvalue,kind,SYSTEM,customer,blocked\r\n' +
        '"a,""b""",account,source,,\r\n\r\n+12025550123,did,target,acme,true',
      store,
    );
    expect(result).toMatchObject({ lines: 4, written: 2, rejected: 0, interrupted: false });
    expect(await all(store.entries())).toEqual([
      { kind: 'account', value: 'a,"b"', system: 'source' },
      { kind: 'did', value: '+12025550123', system: 'target', customer: 'acme', blocked: true },
    ]);
  });

  it('reads JSON lines with customers', async () => {
    const text =
      '{"kind":"customer","value":"acme","source":"source","target":"target","exported":true}\n' +
      '{"kind":"account","value":"1001","system":"source","customer":"acme"}\n';
    await bring(text, store, { format: 'jsonl' });
    expect((await store.lookup({ kind: 'account', value: '1001' }))?.system).toBe('target');
  });

  it('reports every bad line with its number and reason, and imports the rest', async () => {
    const text =
      'kind,value,system,blocked\n' +
      'account,1,source,\n' +
      'phone,2,source,\n' +
      'account,,source,\n' +
      'account,3,,\n' +
      'account,4,source,maybe\n' +
      'account,5\n' +
      'account,"6,source,\n' +
      `account,${'7'.repeat(1025)},source,\n` +
      `account,${'8'.repeat(70_000)},source,\n` +
      'account,9,source,no\n';
    const { written, rejected, rejections } = await bring(text, store);
    expect([written, rejected]).toEqual([2, 8]);
    expect(rejections.map(([line]) => line)).toEqual([3, 4, 5, 6, 7, 8, 9, 10]);
    expect(rejections.map(([, reason]) => reason)).toEqual([
      'kind must be one of account, did, customer',
      expect.stringContaining('value must be'),
      expect.stringContaining('system must be'),
      'blocked must be true or false, not "maybe"',
      '2 fields instead of 4',
      'quotes do not match',
      expect.stringContaining('value must be'),
      'the line is too long',
    ]);
  });

  it.each([
    ['kind,value\n', 'the header lacks the column "system"'],
    ['kind,value,system,colour\n', 'the header names an unknown column "colour"'],
    ['account,1,source\n', 'unknown column "1"'],
    ['kind,value,system,kind\n', 'the header names a column twice'],
  ])('refuses the whole file for a wrong header %j', async (header, reason) => {
    const { written, rejections } = await bring(`${header}account,1,source\n`, store);
    expect(written).toBe(0);
    expect(rejections).toEqual([[1, expect.stringContaining(reason)]]);
  });

  it.each([
    '{"kind":"account"',
    '[]',
    '{"kind":"account","value":7,"system":"s"}',
    '{"kind":"account","value":"7","system":"s","x":1}',
  ])('rejects the JSON line %s', async (line) => {
    expect(await bring(`${line}\n`, store, { format: 'jsonl' })).toMatchObject({ written: 0, rejected: 1 });
  });

  it('keeps the last row of a key, wherever the rows are', async () => {
    const slow: Registry = Object.create(store, {
      putAll: {
        value: async (entries: readonly RegistryEntry[]) => {
          await new Promise((resolve) => setTimeout(resolve, entries[0]?.system === 's0' ? 30 : 1));
          await store.putAll(entries);
        },
      },
    }) as Registry;
    const text = `kind,value,system\n${Array.from({ length: 8 }, (_, n) => `account,1,s${n}\n`).join('')}`;
    await bring(text, slow, { batchSize: 1 });
    expect((await store.get({ kind: 'account', value: '1' }))?.system).toBe('s7');
  });

  it('stops at the signal and goes on from its position, with exact counts', async () => {
    const text = csv(5000).replace('account,4711,source', 'bad line');
    let position: ImportPosition | undefined;
    let interruptions = 0;
    for (;;) {
      const stop = new AbortController();
      const before: number = position?.lines ?? 0;
      const result: Awaited<ReturnType<typeof bring>> = await bring(text, store, {
        ...(position === undefined ? {} : { resume: position }),
        batchSize: 100,
        signal: stop.signal,
        onProgress: ({ lines }) => lines >= before + 1500 && stop.abort(),
      });
      position = result.position;
      if (!result.interrupted) break;
      interruptions += 1;
    }
    expect(interruptions).toBe(3);
    expect(position).toMatchObject({ lines: 5001, written: 4999, rejected: 1 });
    expect(await all(store.entries())).toHaveLength(4999);
  });

  it('goes on after a failed write from the last position told', async () => {
    let left = 7;
    const failing: Registry = Object.create(store, {
      putAll: {
        value: (entries: readonly RegistryEntry[]) =>
          (left -= 1) < 0 ? Promise.reject(new Error('the registry is away')) : store.putAll(entries),
      },
    }) as Registry;
    let position: ImportPosition | undefined;
    await expect(
      bring(csv(2000), failing, { batchSize: 100, onProgress: (now) => (position = now) }),
    ).rejects.toThrow('the registry is away');
    const result = await bring(csv(2000), store, { resume: position! });
    expect(result).toMatchObject({ lines: 2001, written: 2000 });
    expect(await all(store.entries())).toHaveLength(2000);
  });

  it('waits for a registry that is away for a moment, if told to, and gives up after its patience', async () => {
    let failures = 3;
    const away: Registry = Object.create(store, {
      putAll: {
        value: (entries: readonly RegistryEntry[]) =>
          (failures -= 1) >= 0
            ? Promise.reject(new DsbcError('DSBC_REGISTRY_UNAVAILABLE', 'away'))
            : store.putAll(entries),
      },
    }) as Registry;
    const waits: string[] = [];
    const onWait = (error: Error) => void waits.push(error.message);
    const patience = { ms: 10_000, onWait };
    expect(await bring(csv(20), away, { batchSize: 10, patience })).toMatchObject({ lines: 21, written: 20 });
    expect(waits).toEqual(['away', 'away', 'away']);
    expect(await all(store.entries())).toHaveLength(20);
    failures = Infinity;
    const little = { ms: 500, onWait };
    await expect(bring(csv(20), away, { batchSize: 10, patience: little })).rejects.toThrow('away');
  });

  it('writes nothing on a dry run, but counts and reports', async () => {
    expect(await bring(`${csv(10)}bad\n`, store, { dryRun: true })).toMatchObject({
      written: 10,
      rejected: 1,
    });
    expect(await all(store.entries())).toEqual([]);
  });

  describe('that replaces', () => {
    let dir: string;
    let seen: SeenKeys;
    beforeEach(async () => {
      dir = mkdtempSync(join(tmpdir(), 'dsbc-import-'));
      seen = new SeenKeys(join(dir, 'seen.lmdb'));
      await store.putAll([row(1), row(2), row(30), { kind: 'did', value: '9', system: 'source' }]);
      await store.putCustomer({ id: 'acme', source: 'source', target: 'target', exported: false });
    });
    afterEach(async () => {
      await seen.close();
      rmSync(dir, { recursive: true });
    });
    const left = async () => (await all(store.entries())).map(({ value }) => value).sort();

    it('deletes what the file does not have, only of its kinds, when that is confirmed', async () => {
      const asked: number[] = [];
      const confirm = (count: number) => Promise.resolve(asked.push(count) > 0);
      expect(await bring(csv(2), store, { replace: { seen, confirm } })).toMatchObject({
        written: 2,
        deleted: 2,
      });
      expect(asked).toEqual([2]);
      expect(await left()).toEqual(['0', '1', '9']);
      expect(await store.getCustomer('acme')).not.toBeNull();
    });

    it('deletes nothing unconfirmed, or after a rejected line', async () => {
      const refuse = () => Promise.resolve(false);
      expect(await bring(csv(2), store, { replace: { seen, confirm: refuse } })).toMatchObject({
        deleted: 0,
        notReplaced: 'not confirmed',
      });
      const agree = () => Promise.resolve(true);
      expect(await bring(`${csv(2)}bad\n`, store, { replace: { seen, confirm: agree } })).toMatchObject({
        deleted: 0,
        notReplaced: 'lines were rejected',
      });
      expect(await left()).toEqual(['0', '1', '2', '30', '9']);
    });

    it('only counts on a dry run', async () => {
      const never = () => Promise.reject(new Error('must not ask'));
      expect(await bring(csv(2), store, { dryRun: true, replace: { seen, confirm: never } })).toMatchObject({
        deleted: 2,
      });
      expect(await left()).toEqual(['1', '2', '30', '9']);
    });
  });
});

describe('an export', () => {
  it.each(['csv', 'jsonl'] as const)('is read back as it was, in %s', async (format) => {
    const name = fc
      .string({ unit: 'grapheme', minLength: 1, maxLength: 12 })
      .filter((text) => !/\p{Cc}/u.test(text) && text === text.trim());
    const entry = fc.record(
      {
        kind: fc.constantFrom('account' as const, 'did' as const),
        value: name,
        system: name,
        account: name,
        site: name,
        customer: name,
        blocked: fc.constant(true),
      },
      { requiredKeys: ['kind', 'value', 'system'] },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(entry, { maxLength: 20 }), async (entries) => {
        const from = createMemoryRegistry();
        const to = createMemoryRegistry();
        await from.putAll(entries);
        await from.putCustomer({ id: 'acme, "inc"', source: 'source', target: 'target', exported: true });
        let text = '';
        const write = (part: string) => Promise.resolve(void (text += part));
        await exportEntries({ store: from, format, write });
        const { rejections } = await bring(text, to, { format });
        expect(rejections).toEqual([]);
        expect(await all(to.entries())).toEqual(await all(from.entries()));
        expect(await all(to.customers())).toEqual(await all(from.customers()));
      }),
      { numRuns: 100 },
    );
  });

  it('quotes so that splitting gives the same fields', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.string().filter((text) => !/[\r\n]/.test(text)),
          { minLength: 1 },
        ),
        (fields) => {
          expect(splitCsvLine(fields.map(csvField).join(','))).toEqual(fields);
        },
      ),
    );
  });
});
