import { readFileSync } from 'node:fs';
import { createDsbc, type DsbcOptions } from '../../plugin';
import { DSBC_OPTIONS } from '../../plugin/main/check-options';
import { silentLogger } from '../../plugin/telemetry/logger';
import { smallConfig } from '../fixtures/config';

const page = readFileSync('docs/middleware.md', 'utf8');
/** The first cells of the rows of the table with this head. */
const rowsOf = (head: string): string[] => {
  const table = new RegExp(`^\\| ${head} [^]*?\\n\\n`, 'm').exec(page)?.[0] ?? '';
  return [...table.matchAll(/^\| (`[^|]*)/gm)].map(([, cell = '']) => cell.trim());
};

describe('docs/middleware.md', () => {
  it('has one row for each option of createDsbc', () => {
    expect(rowsOf('option').map((cell) => cell.replaceAll('`', ''))).toEqual(DSBC_OPTIONS);
  });

  it('names members that an instance has', () => {
    const dsbc = createDsbc({ config: smallConfig(), logger: silentLogger });
    const names = rowsOf('member').flatMap((cell) =>
      [...cell.matchAll(/`(\w+)[^`]*`/g)].map(([, name = '']) => name),
    );
    expect(names.length).toBeGreaterThan(10);
    expect(names.filter((name) => !(name in dsbc))).toEqual([]);
  });

  it.each([
    [{ hookz: {} }, 'createDsbc.hookz: expected one of config, srf, hooks, logger, registry; found hookz'],
    [{ logger: { info: () => undefined } }, 'createDsbc.logger: expected a logger with debug'],
    [{ registry: 'lmdb' }, 'createDsbc.registry: expected an open registry; found string'],
    [{ hooks: [] }, 'createDsbc.hooks: expected an object of hooks by name; found a list'],
    [{ config: 'dsbc.yaml' }, 'createDsbc.config: expected a configuration; found string'],
  ])('says that others are refused: %j', (wrong, fault) => {
    const options = { config: smallConfig(), logger: silentLogger, ...wrong } as unknown as DsbcOptions;
    expect(() => createDsbc(options)).toThrow(
      expect.objectContaining({ code: 'DSBC_CONFIG_INVALID', message: expect.stringContaining(fault) }),
    );
  });

  it('shows a control section that will do', () => {
    const [server] = smallConfig().sip_servers;
    const { entry } = server!;
    const sip_servers = [{ name: 'main', server: 'drachtio', entry, control: { secret: 'unused' } }];
    expect(page).toContain('`control: { secret: unused }`');
    expect(() =>
      createDsbc({ config: { ...smallConfig(), sip_servers } as never, logger: silentLogger }),
    ).not.toThrow();
  });
});
