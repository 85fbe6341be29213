import { isDeepStrictEqual } from 'node:util';
import type { Logger } from '../telemetry/logger';
import type { OperatorDecision, OperatorStates } from './registry';
import { OPERATOR_STATES } from './registry';

export const DECISIONS_TOPIC = 'operator-states';

/**
 * The operators' decisions about sites as the group replicates them: one record is all of them. A standby with a registry
 * of its own (memory, LMDB) writes down what it does not have; with a shared one it only need not wait for its next poll.
 */
export function replicatedDecisions(parts: {
  /** `undefined`: not known yet, so there is nothing to tell. */
  readonly current: () => readonly OperatorDecision[] | undefined;
  /** Takes them into use. */
  readonly decide: (decisions: readonly OperatorDecision[]) => void;
  /** Absent: the registry is shared with the active. */
  readonly own?: Pick<OperatorStates, 'listDecisions' | 'putDecision'>;
  readonly log: Logger;
}): { readonly name: string; snapshot(): Iterable<unknown>; apply(record: unknown): void } {
  const { current, decide, own, log } = parts;
  let writing = Promise.resolve();
  const write = async (decisions: readonly OperatorDecision[]): Promise<void> => {
    const known = (await own?.listDecisions()) ?? [];
    for (const decision of decisions) {
      if (!known.some((each) => isDeepStrictEqual({ ...each }, { ...decision })))
        await own?.putDecision(decision);
    }
  };
  return {
    name: DECISIONS_TOPIC,
    snapshot: () => {
      const decisions = current();
      return decisions === undefined ? [] : [decisions];
    },
    apply: (record) => {
      if (!Array.isArray(record)) return;
      const decisions = record.filter(isDecision);
      decide(decisions);
      if (own === undefined) return;
      writing = writing
        .then(() => write(decisions))
        .catch((error: unknown) =>
          log.warn({ err: error }, 'operator states of the active not written down'),
        );
    },
  };
}

/** The other side may be of another version. */
function isDecision(value: unknown): value is OperatorDecision {
  if (typeof value !== 'object' || value === null) return false;
  const { system, site, node, state, by, at, why } = value as Partial<
    Record<keyof OperatorDecision, unknown>
  >;
  return (
    [system, site, by, at, why].every((text) => typeof text === 'string') &&
    (node === undefined || typeof node === 'string') &&
    (OPERATOR_STATES as readonly unknown[]).includes(state)
  );
}
