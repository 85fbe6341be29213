import { execFileSync } from 'node:child_process';
import type * as Native from '../../plugin/native';
import { describeWith } from '../fixtures/needs';

const load = (root: string): typeof Native => {
  jest.resetModules();
  jest.doMock('node:module', () => ({
    createRequire: () => () => (): unknown => {
      if (root === 'missing') throw new Error('No native build was found\nloaded from: here');
      return { scannerFor: () => () => 48, bootTime: () => 1 };
    },
  }));
  return jest.requireActual<typeof Native>('../../plugin/native');
};

describe('loading the addon', () => {
  afterEach(() => {
    jest.dontMock('node:module');
    jest.resetModules();
  });

  it('auto: runs without it and says why, once', () => {
    const lines: unknown[] = [];
    const log = {
      debug: () => undefined,
      info: (fields: object) => lines.push(fields),
      warn: () => undefined,
      error: () => undefined,
      child: () => log,
    };
    expect(load('missing').startNative('auto', log)).toEqual({
      mode: 'auto',
      running: 'typescript',
      reason: 'the addon cannot be loaded: No native build was found',
    });
    expect(lines).toHaveLength(1);
  });

  it('require: refuses to start without it, with the reason', () => {
    const start = (): unknown => load('missing').startNative('require');
    expect(start).toThrow(
      expect.objectContaining({
        code: 'DSBC_NATIVE_REQUIRED',
        message: expect.stringContaining('No native build was found'),
      }),
    );
  });

  it('off: does not even try', () => {
    expect(load('missing').startNative('off')).toMatchObject({ running: 'typescript' });
  });

  it('auto and require: run it where it loads', () => {
    for (const mode of ['auto', 'require'] as const) {
      expect(load('there').startNative(mode)).toEqual({
        mode,
        running: 'native',
        reason: 'the addon is loaded',
      });
    }
  });
});

describe('the install script', () => {
  it('says why it goes without, and succeeds, where there is no compiler', () => {
    const printed = execFileSync(process.execPath, ['scripts/install.mjs'], {
      env: { PATH: '/nowhere', DSBC_NATIVE_BUILD: '0' },
      encoding: 'utf8',
    });
    expect(printed).toContain('runs without the native addon');
  });
});

describeWith(['addon'], 'the addon that is built here', () => {
  it('is the one that loads: a broken build cannot pass on the twin', () => {
    jest.resetModules();
    const { loadAddon } = jest.requireActual<typeof Native>('../../plugin/native');
    expect(loadAddon().bootTime()).toBeGreaterThan(0);
    expect(loadAddon().scannerFor(new Int32Array(48))('')).toBe(48);
  });
});
