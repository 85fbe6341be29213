import { readFileSync } from 'node:fs';
import { apiReference, type OpenApi } from '../fixtures/api-reference';
import { TITLES } from '../../plugin/admin/problem';
import { buildAdmin } from '../../plugin/admin/server';
import { silentLogger } from '../../plugin/telemetry/logger';
import { fillBlock, itIsCurrent } from '../fixtures/generated';
import { FakeOperation } from '../fixtures/operation';

let openApi: OpenApi;

beforeAll(async () => {
  const app = await buildAdmin({
    config: { enabled: true, address: '127.0.0.1', port: 0, token: 'a token of 16 and more' },
    operation: new FakeOperation(),
    version: '0.0.0',
    log: silentLogger,
  });
  openApi = app.swagger() as unknown as OpenApi;
  await app.close();
});

describe('the documented admin API', () => {
  itIsCurrent('docs/api.md', (before) => fillBlock(before, 'api', apiReference(openApi)));

  it('has every path and method', () => {
    const page = readFileSync('docs/api.md', 'utf8');
    for (const [path, methods] of Object.entries(openApi.paths))
      for (const method of Object.keys(methods))
        expect(page).toContain(`### ${method.toUpperCase()} ${path}`);
  });

  it('has every status that a request can fail with', () => {
    const page = readFileSync('docs/api.md', 'utf8');
    const listed = [...page.matchAll(/^\| (\d{3}) +\|/gm)].map(([, status]) => Number(status));
    const ofRoutes = [...page.matchAll(/^- (\d{3}): /gm)].map(([, status]) => Number(status));
    expect([...new Set([...listed, ...ofRoutes])].sort()).toEqual(
      [...Object.keys(TITLES).map(Number), 500].sort(),
    );
    expect(listed).toEqual(expect.arrayContaining([400, 401, 403, 404, 405, 413, 415, 500]));
  });

  it('says of every field of an answer what it is called', () => {
    const page = readFileSync('docs/api.md', 'utf8');
    for (const field of ['needs_restart', 'share_now', 'in_flight', 'heard_ms_ago', 'exported'])
      expect(page).toMatch(new RegExp(`^\\| \`([a-z_]+(\\[\\])?\\.)*${field}\``, 'm'));
  });
});
