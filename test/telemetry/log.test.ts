import { createLog, type LogSettings } from '../../plugin/telemetry/log';
import { maskDigits } from '../../plugin/telemetry/redaction';

const settings: LogSettings = { level: 'info', mask_numbers: false };
const logTo = (changes: Partial<LogSettings> = {}) => {
  const lines: Record<string, unknown>[] = [];
  const log = createLog(
    { ...settings, ...changes },
    { instance: 'dsbc-1', write: (line) => lines.push(JSON.parse(line)) },
  );
  return { lines, log, logger: log.logger };
};

describe('createLog', () => {
  it('writes one JSON object per event with level, time, instance, fields and message', () => {
    const { lines, logger } = logTo();
    logger.info({ callId: 'c1', site: 'main' }, 'site chosen');
    expect(lines).toEqual([
      {
        level: 'info',
        time: expect.stringMatching(/^\d{4}-\d\d-\d\dT[\d:.]+Z$/),
        instance: 'dsbc-1',
        callId: 'c1',
        site: 'main',
        msg: 'site chosen',
      },
    ]);
  });

  it('leaves out what is below its level', () => {
    const { lines, logger } = logTo({ level: 'warn' });
    logger.info({}, 'no');
    logger.warn({}, 'yes');
    expect(lines.map((line) => line['msg'])).toEqual(['yes']);
  });

  it('never writes credentials, in fields, deep fields, child fields or the text of a message', () => {
    const { lines, logger } = logTo();
    const raw =
      'REGISTER sip:x SIP/2.0\r\nAuthorization: Digest username="1001",\r\n response="hunter2"\r\nproxy-authorization : hunter2\r\nTo: x\r\n';
    logger
      .child({ token: 'hunter2' })
      .info({ Authorization: 'hunter2', a: { b: [{ password: 'hunter2' }] }, secret: 987654321, raw }, 'x');
    const text = JSON.stringify(lines);
    expect(text).not.toMatch(/hunter2|987654321/);
    expect(text).toContain('Authorization: [redacted]');
    expect(text).toContain('To: x');
  });

  it('says no cause twice', () => {
    const { lines, logger } = logTo();
    const inner = new Error('ENOENT: no such file');
    const between = new Error('it cannot be read', { cause: inner });
    logger.warn({ err: new Error('x cannot be read: ENOENT: no such file', { cause: inner }) }, 'not read');
    logger.warn({ err: new Error('outer', { cause: between }) }, 'not read');
    expect(lines.map((line) => (line['err'] as Error).message)).toEqual([
      'x cannot be read: ENOENT: no such file',
      'outer: it cannot be read: ENOENT: no such file',
    ]);
  });

  it('keeps errors with stack and cause', () => {
    const { lines, logger } = logTo();
    logger.error({ err: new Error('outer', { cause: new Error('inner') }) }, 'failed');
    expect(lines[0]).toMatchObject({
      err: { message: expect.stringContaining('outer'), stack: expect.stringContaining('log.test') },
    });
    expect(JSON.stringify(lines[0])).toContain('inner');
  });

  it('shows numbers unless told to mask them', () => {
    const { lines, logger } = logTo();
    logger.info({ to: 'sip:+12025550123@example.com' });
    expect(lines[0]?.['to']).toBe('sip:+12025550123@example.com');
  });

  it('masks numbers but neither addresses, Call-IDs, statuses nor times', () => {
    const { lines, logger } = logTo({ mask_numbers: true });
    logger.info(
      {
        callId: '12345678901@host',
        from: 'sip:1001@198.51.100.10:5060',
        to: 'sip:+12025550123@198.51.100.123',
        key: { kind: 'did', value: '12025550199' },
        node: 'sip:198.51.100.21:5060',
        note: 'asked for 12025550123 at port 40123',
        status: 404,
        ms: 12_345_678,
      },
      'x',
    );
    expect(lines[0]).toMatchObject({
      callId: '12345678901@host',
      from: 'sip:****@198.51.100.10:5060',
      to: 'sip:+12*******23@198.51.100.123',
      key: { kind: 'did', value: '12*******99' },
      node: 'sip:198.51.100.21:5060',
      note: 'asked for 12*******23 at port 40123',
      status: 404,
      ms: 12_345_678,
    });
    expect(String(lines[0]?.['time'])).toMatch(/^20/);
  });

  it('survives what nests without end', () => {
    const { lines, logger } = logTo();
    const loop: Record<string, unknown> = {};
    loop['loop'] = loop;
    logger.info({ loop }, 'x');
    expect(JSON.stringify(lines)).toContain('[deep]');
  });
});

describe('maskDigits', () => {
  it.each([
    ['1001', '****'],
    ['12', '**'],
    ['10012', '10*12'],
    ['12025550123', '12*******23'],
  ])('makes %s %s', (from, to) => {
    expect(maskDigits(from)).toBe(to);
  });
});
