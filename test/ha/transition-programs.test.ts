import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { TransitionPrograms } from '../../plugin/ha/transition-programs';
import { silentLogger } from '../../plugin/telemetry/logger';

describe('the programs of ha.on_active and ha.on_standby', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-transition-'));
  const heard = join(folder, 'heard');
  const words = (): string[] => readFileSync(heard, 'utf8').split('\n').filter(Boolean);
  const until = async (wanted: () => boolean): Promise<void> => {
    for (let waited = 0; waited < 5000 && !wanted(); waited += 10)
      await new Promise((resolve) => setTimeout(resolve, 10));
  };
  beforeEach(() => writeFileSync(heard, ''));
  afterAll(() => rmSync(folder, { recursive: true }));

  it('run one at a time; what changed meanwhile is followed by its latest state only', async () => {
    const say = (word: string) => [
      'sh',
      '-c',
      `echo begin ${word} >> ${heard}; sleep 0.2; echo end ${word} >> ${heard}`,
    ];
    const programs = new TransitionPrograms({ active: say('active'), standby: say('standby') }, silentLogger);
    programs.became('active');
    for (const state of ['standby', 'active', 'standby'] as const) programs.became(state);
    await until(() => words().length === 4);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(words()).toEqual(['begin active', 'end active', 'begin standby', 'end standby']);
  });

  it('may be missing or fail: it is logged, and the next one runs', async () => {
    const failures: unknown[] = [];
    const log = { ...silentLogger, error: (fields: object) => void failures.push(fields) };
    const programs = new TransitionPrograms({ active: ['/no/such/program'] }, log);
    programs.became('standby');
    programs.became('active');
    await until(() => failures.length === 1);
    programs.became('active');
    await until(() => failures.length === 2);
    expect(failures).toEqual([
      expect.objectContaining({ state: 'active', program: '/no/such/program' }),
      expect.objectContaining({ state: 'active' }),
    ]);
  });
});
