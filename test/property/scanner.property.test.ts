import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { HEAD } from '../../plugin/message/scan/layout';
import { scanMessage } from '../../plugin/message/scan/message';
import { parseMessage } from '../../plugin/message/parse';
import { useScanner, type HeaderScanner } from '../../plugin/message/scanner';
import { loadAddon } from '../../plugin/native';
import { mutations } from '../fixtures/mutations';
import { describeWith } from '../fixtures/needs';
import { handedFiles, tortureFiles } from '../fixtures/sip-files';

/** How many mutated inputs a run tries; DSBC_TEST_MUTATIONS=1000000 for the long one. */
const MUTATIONS = Number(process.env['DSBC_TEST_MUTATIONS'] ?? 5_000);

const native = new Int32Array(65536);
const twin = new Int32Array(65536);

let nativeScan: HeaderScanner | undefined;

/** Both give the same number, and the same table as far as it is used. */
function expectSame(text: string): void {
  nativeScan ??= loadAddon().scannerFor(native);
  const used = nativeScan(text);
  expect(scanMessage(text, twin)).toBe(used);
  for (let at = 0; at < Math.min(used, twin.length); at++) {
    if (native[at] !== twin[at])
      throw new Error(`at ${at}: ${native[at]} and ${twin[at]} for ${JSON.stringify(text)}`);
  }
}

describeWith(['addon'], 'the native header scanner and its TypeScript twin', () => {
  it('agree on every handed case', () => {
    for (const { raw } of handedFiles()) expectSame(raw);
  });

  it(`agree on ${MUTATIONS} mutations of them`, () => {
    for (const raw of mutations(
      handedFiles().map(({ raw: text }) => text),
      3,
      MUTATIONS,
    ))
      expectSame(raw);
  }, 600_000);

  it('agree on any bytes', () => {
    const bytes = fc.string({
      unit: fc.integer({ min: 0, max: 255 }).map((code) => String.fromCharCode(code)),
      maxLength: 200,
    });
    fc.assert(
      fc.property(bytes, bytes, (first, second) => {
        expectSame(first);
        expectSame(
          `OPTIONS ${first} SIP/2.0\r\nVia: ${second}\r\nContact: ${second},${first}\r\n${first}: ${second}\r\n\r\n`,
        );
      }),
      { numRuns: 1000 },
    );
  });

  it.each(['', '2', '20', '200', '200 ', '200  OK', '2000', '200x', '20 ', ' 200', '200\t'])(
    'agree on the status line of "%s"',
    (rest) => {
      for (const line of [`SIP/2.0 ${rest}`, `SIP/2.0${rest}`, `sip/20.10 ${rest}`])
        for (const end of ['', '\r\n', '\r\nVia: SIP/2.0/UDP h\r\n\r\n', '\n\r\n']) expectSame(line + end);
    },
  );

  it.each([0, 1, 2, 3, 65_535, 65_536, 65_537, 300_000])('agree on a message of %d bytes', (size) => {
    const text = `OPTIONS sip:a SIP/2.0\r\nVia: SIP/2.0/UDP h\r\nX: ${'y'.repeat(size)}\r\n\r\n`.slice(
      0,
      Math.max(size, 0),
    );
    expectSame(text);
    expectSame('\r\n'.repeat(size / 2));
  });

  it('agree that a table was too small, without a word behind its end', () => {
    const raw = handedFiles()
      .map(({ raw: text }) => text)
      .join('');
    const needed = scanMessage(raw, twin);
    for (let size: number = HEAD.SIZE; size < needed; size += 97) {
      const memory = new Int32Array(size + 64).fill(77);
      expect(loadAddon().scannerFor(memory.subarray(0, size))(raw)).toBe(needed);
      expect(memory.subarray(size).every((value) => value === 77)).toBe(true);
    }
  });

  it('refuses a table without room for the head, and what is no table', () => {
    const scannerFor = loadAddon().scannerFor as (...args: unknown[]) => unknown;
    const resizable = Reflect.construct(ArrayBuffer, [4096, { maxByteLength: 8192 }]);
    for (const args of [
      [new Int32Array(HEAD.SIZE - 1)],
      [new Uint8Array(4096)],
      [new Int32Array(new SharedArrayBuffer(4096))],
      [new Int32Array(resizable)],
      ['x'],
      [],
    ]) {
      expect(() => scannerFor(...args)).toThrow(expect.objectContaining({ name: 'TypeError' }));
    }
  });

  it('refuses what is no text, and a table whose memory was given away', () => {
    const table = new Int32Array(HEAD.SIZE);
    const scan = loadAddon().scannerFor(table) as (...args: unknown[]) => number;
    for (const args of [[1], [undefined], [Buffer.from('x')], []])
      expect(() => scan(...args)).toThrow(expect.objectContaining({ name: 'TypeError' }));
    expect(scan('')).toBe(HEAD.SIZE);
    structuredClone(table.buffer, { transfer: [table.buffer] });
    expect(() => scan('')).toThrow(expect.objectContaining({ name: 'TypeError' }));
  });

  it('share their layout: sip_layout.h has the numbers of layout.ts', () => {
    const header = readFileSync('native/sip_layout.h', 'utf8');
    const value = (name: string, within: string): number => {
      const block = header.slice(header.indexOf(within));
      return Number(new RegExp(`\\b${name} = (-?\\d+)`).exec(block)?.[1]);
    };
    expect(value('kUsed', 'enum Head')).toBe(HEAD.USED);
    expect(value('kFirst', 'enum Head')).toBe(HEAD.FIRST);
    expect(value('kHeadSize', 'enum Head')).toBe(HEAD.SIZE);
    expect(value('kUriValid', 'enum Head')).toBe(HEAD.URI_VALID);
  });
});

describeWith(
  ['addon', 'torture'],
  'the native scanner and its twin on the messages of RFC 4475 and RFC 5118',
  () => {
    const corpus = tortureFiles().map(({ raw }) => raw);
    it('agree on each', () => {
      for (const raw of corpus) expectSame(raw);
    });
    it(`agree on ${MUTATIONS} mutations`, () => {
      for (const raw of mutations(corpus, 4, MUTATIONS)) expectSame(raw);
    }, 600_000);
  },
);

describe.each(['native', 'typescript'])('bounded work, %s', (which) => {
  beforeEach(() => {
    if (which === 'native') {
      try {
        useScanner(loadAddon().scannerFor);
      } catch {
        useScanner();
      }
    }
  });
  afterEach(() => useScanner());

  it('H41: 5,000 headers are 5,000 headers', () => {
    const lines = Array.from({ length: 5000 }, (_, index) => `X-${index}: ${'v'.repeat(index % 50)}`);
    const result = parseMessage(`OPTIONS sip:a SIP/2.0\r\n${lines.join('\r\n')}\r\n\r\n`);
    expect(result.ok && result.message.headers).toHaveLength(5000);
    expect(result.ok && result.message.get('X-4999')).toHaveLength(49);
  });

  it('refuses more elements than any message has', () => {
    const result = parseMessage(
      `OPTIONS sip:a SIP/2.0\r\nContact: ${'<sip:a>,'.repeat(5000)}<sip:a>\r\n\r\n`,
    );
    expect(result).toMatchObject({ ok: false, reason: 'too many header values' });
  });

  it('reads messages in turn, each from its own text', () => {
    const [first, second] = ['one', 'two'].map((user) => {
      const result = parseMessage(
        `OPTIONS sip:${user} SIP/2.0\r\nFrom: <sip:${user}@h>;tag=${user}\r\nTo: <sip:x@h>\r\n\r\n`,
      );
      if (!result.ok) throw new Error(result.reason);
      return result.message;
    });
    expect([first?.to?.uri, second?.from?.uri, first?.from?.uri]).toEqual([
      'sip:x@h',
      'sip:two@h',
      'sip:one@h',
    ]);
  });
});
