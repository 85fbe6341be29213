import type { Decision, Step } from '../../plugin/routing/decision';
import { CALL_FLOWS, type CallFlow } from './call-flows';
import { decideRow, expectedOn, type SipServerKind } from './call-flows/decide-row';

const keyOf = (decision: Decision): string | undefined =>
  'key' in decision && decision.key !== undefined ? `${decision.key.kind} ${decision.key.value}` : undefined;

function check(row: CallFlow, kind: SipServerKind): void {
  const decision = decideRow(row, kind);
  const { header, key, site, ...fields } = expectedOn(row, kind);
  expect(decision).toMatchObject(fields);
  if (key !== undefined) expect(keyOf(decision)).toBe(key);
  if (site !== undefined) expect(decision.kind === 'dispatch' && decision.plan[0]?.site).toBe(site);
  if (header !== undefined) {
    const headers = decision.kind === 'answer' ? decision.headers : [];
    const value = headers?.find(([name]) => name === header[0])?.[1];
    if (typeof header[1] === 'string') expect(value).toBe(header[1]);
    else expect(value).toMatch(header[1]);
  }
}

describe.each(CALL_FLOWS)('$who calls $toWhom', (row) => {
  it(row.happens, () => check(row, 'embedded'));

  it('is decided as the row says with what drachtio-server can do', () => check(row, 'drachtio'));

  it('says why, and decides the same when asked to', () => {
    const steps: Step[] = [];
    const explained = decideRow(row, 'embedded', undefined, steps);
    const said = steps.map(({ step }) => step);
    if (explained.kind !== 'answer' && explained.kind !== 'drop') {
      expect(said).toEqual(expect.arrayContaining(['source', 'relay']));
      const where = { dispatch: 'site', outbound: 'policy', to_flow: 'route' }[explained.kind];
      expect(said).toContain(where);
    }
    if (explained.kind === 'answer') expect(said.at(-1)).toBe('answer');
    expect(steps.length).toBeGreaterThan(0);
    expect({ ...explained, steps: [] }).toEqual({ ...decideRow(row, 'embedded'), steps: [] });
  });
});

it('each row has a name of its own', () => {
  const names = CALL_FLOWS.map((row) => `${row.who} ${row.request.method ?? ''} ${row.toWhom}`);
  expect(names.filter((name, i) => names.indexOf(name) !== i)).toEqual([]);
});
