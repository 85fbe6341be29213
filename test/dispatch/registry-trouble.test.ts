import { RegistryTrouble } from '../../plugin/dispatch/registry-trouble';
import { silentLogger } from '../../plugin/telemetry/logger';

it('tells of the first failed look-up at once, and of those that follow every ten seconds, with their number', () => {
  const lines: object[] = [];
  const clock = { now: 0 };
  const log = { ...silentLogger, warn: (fields: object) => void lines.push(fields) };
  const trouble = new RegistryTrouble(log, () => clock.now);
  const key = { kind: 'account', value: '1001' } as const;
  const error = new Error('away');
  for (let n = 0; n < 5000; n += 1) {
    trouble.note(`id${n}`, key, error);
    clock.now += 5;
  }
  expect(lines).toEqual([
    { id: 'id0', key, failures: 1, err: error },
    expect.objectContaining({ id: 'id2000', failures: 2000 }),
    expect.objectContaining({ id: 'id4000', failures: 2000 }),
  ]);
});
