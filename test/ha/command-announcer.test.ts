import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { VipAddress } from '../../plugin/ha/ports';
import { CommandAnnouncer } from '../../plugin/ha/vip/command-announcer';
import { silentLogger } from '../../plugin/telemetry/logger';

const VIPS: readonly VipAddress[] = [
  { address: '198.51.100.10', family: 4, interface: 'eth0' },
  { address: '198.51.100.11', family: 4, interface: 'eth0' },
];
const RETRY_MS = 20;

describe('the command that announces', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-announce-'));
  const heard = join(folder, 'heard');
  const broken = join(folder, 'broken');
  /** Writes down its arguments; fails as long as `broken` is there. */
  const command = ['sh', '-c', `echo "$@" >> ${heard}; test ! -e ${broken}`, 'move-vip'];
  const lines = (): string[] => readFileSync(heard, 'utf8').split('\n').filter(Boolean);
  const announcers: CommandAnnouncer[] = [];
  const errors: string[] = [];
  const open = (...words: readonly string[]): CommandAnnouncer => {
    const log = { ...silentLogger, error: (_fields: object, message?: string) => errors.push(message ?? '') };
    const made = new CommandAnnouncer(words, VIPS, log, RETRY_MS);
    announcers.push(made);
    return made;
  };
  const until = async (wanted: () => boolean): Promise<void> => {
    const end = performance.now() + 5000;
    while (!wanted()) {
      if (performance.now() > end) throw new Error(`not within 5 s; heard ${lines().join('; ')}`);
      await new Promise((resolve) => setTimeout(resolve, 5));
    }
  };
  const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

  beforeEach(() => {
    writeFileSync(heard, '');
    rmSync(broken, { force: true });
    errors.length = 0;
  });
  afterEach(() => announcers.splice(0).forEach((each) => each.close()));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('gets the wish and all addresses, one run at a time, and only the last wish counts', async () => {
    const announcer = open(...command);
    announcer.lost();
    announcer.gained();
    announcer.lost();
    announcer.gained();
    await until(() => lines().length === 2);
    await pause(5 * RETRY_MS);
    expect(lines()).toEqual(['remove 198.51.100.10 198.51.100.11', 'add 198.51.100.10 198.51.100.11']);
  });

  it.each(['gained', 'lost'] as const)('that fails is tried again until it works: %s', async (wish) => {
    const word = wish === 'gained' ? 'add' : 'remove';
    writeFileSync(broken, '');
    const announcer = open(...command);
    announcer[wish]();
    await until(() => lines().length >= 3);
    rmSync(broken);
    const before = lines().length;
    await until(() => lines().length > before);
    await pause(5 * RETRY_MS);
    const all = lines();
    expect(all.every((line) => line.startsWith(word))).toBe(true);
    const after = all.length;
    await pause(5 * RETRY_MS);
    expect(lines()).toHaveLength(after);
    // It is said once, not at every try.
    expect(errors).toEqual(['announce command failed']);
  });

  it('that fails gives way to another wish, and to the end', async () => {
    writeFileSync(broken, '');
    const announcer = open(...command);
    announcer.lost();
    await until(() => lines().length >= 2);
    announcer.gained();
    await until(() => lines().at(-1)?.startsWith('add') === true);
    announcer.close();
    await pause(5 * RETRY_MS);
    const { length } = lines();
    await pause(5 * RETRY_MS);
    expect(lines()).toHaveLength(length);
    expect(
      lines()
        .slice(lines().findIndex((line) => line.startsWith('add')))
        .join(),
    ).not.toContain('remove');
  });
});
