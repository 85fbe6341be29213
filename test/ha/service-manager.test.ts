import { chmodSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { serviceManagerSettings } from '../../plugin/config/service-manager';
import { ServiceManager } from '../../plugin/ha/service-manager';
import { silentLogger } from '../../plugin/telemetry/logger';

describe('the service manager', () => {
  const folder = mkdtempSync(join(tmpdir(), 'dsbc-notify-'));
  const heard = join(folder, 'heard');
  const program = join(folder, 'notify');
  writeFileSync(program, `#!/bin/sh\necho "$@" >> ${heard}\n`);
  chmodSync(program, 0o755);
  const words = (): string[] => readFileSync(heard, 'utf8').trim().split('\n');
  afterAll(() => rmSync(folder, { recursive: true }));

  it('is asked for by the environment that systemd sets', () => {
    expect(serviceManagerSettings({})).toEqual({ notify: false, watchdogMs: undefined });
    expect(serviceManagerSettings({ NOTIFY_SOCKET: '/run/x', WATCHDOG_USEC: '10000000' })).toEqual({
      notify: true,
      watchdogMs: 10_000,
    });
    expect(serviceManagerSettings({ WATCHDOG_USEC: '10000000' }).watchdogMs).toBeUndefined();
  });

  it('hears ready, signs of life in time, what goes on, and the end; and nothing behind it', async () => {
    writeFileSync(heard, '');
    const manager = new ServiceManager({ notify: true, watchdogMs: 300 }, silentLogger, program);
    manager.ready();
    manager.status('active in term 3');
    await new Promise((resolve) => setTimeout(resolve, 1000));
    manager.stopping();
    manager.close();
    await new Promise((resolve) => setTimeout(resolve, 300));
    const all = words();
    expect(all).toContain('--ready');
    expect(all).toContain('--status=active in term 3');
    expect(all).toContain('STOPPING=1');
    expect(all.filter((word) => word === 'WATCHDOG=1').length).toBeGreaterThanOrEqual(4);
    await new Promise((resolve) => setTimeout(resolve, 300));
    expect(words()).toEqual(all);
  });

  it('says once that nobody can be told, and does nothing where nobody asks', async () => {
    const warnings: unknown[] = [];
    const log = { ...silentLogger, warn: (fields: object) => void warnings.push(fields) };
    const broken = new ServiceManager({ notify: true, watchdogMs: undefined }, log, join(folder, 'missing'));
    broken.ready();
    await new Promise((resolve) => setTimeout(resolve, 100));
    broken.status('x');
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(warnings).toHaveLength(1);
    writeFileSync(heard, '');
    new ServiceManager({ notify: false, watchdogMs: 10 }, silentLogger, program).ready();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(words()).toEqual(['']);
  });
});
