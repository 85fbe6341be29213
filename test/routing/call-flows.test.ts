import type { Decision, Step } from '../../plugin/routing/decision';
import { route } from '../../plugin/routing/decide';
import { factsOf, labLookup, labSnapshot, world } from '../fixtures/routing';
import { CALL_FLOWS, type CallFlow } from './call-flows';

const keyOf = (decision: Decision): string | undefined =>
  'key' in decision && decision.key !== undefined ? `${decision.key.kind} ${decision.key.value}` : undefined;

function decideRow(row: CallFlow, steps?: Step[]): Decision {
  const base = labSnapshot(row.settings);
  return route(factsOf(row.request, row.arrival), base, labLookup, world(), steps);
}

describe.each(CALL_FLOWS)('$who calls $toWhom', (row) => {
  it(row.happens, () => {
    const decision = decideRow(row);
    const { header, key, ...fields } = row.expected;
    expect(decision).toMatchObject(fields);
    if (key !== undefined) expect(keyOf(decision)).toBe(key);
    if (header !== undefined) {
      const headers = decision.kind === 'answer' ? decision.headers : [];
      const value = headers?.find(([name]) => name === header[0])?.[1];
      if (typeof header[1] === 'string') expect(value).toBe(header[1]);
      else expect(value).toMatch(header[1]);
    }
  });

  it('says why, and decides the same when asked to', () => {
    const steps: Step[] = [];
    const explained = decideRow(row, steps);
    expect(steps.length).toBeGreaterThan(0);
    expect({ ...explained, steps: [] }).toEqual({ ...decideRow(row), steps: [] });
  });
});
