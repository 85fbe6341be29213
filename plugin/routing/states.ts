import { nodeKey, type Snapshot } from './snapshot';

/** What may be done with a node: an operator's word first, health second. */
export const NODE_STATES = ['active', 'drain', 'maintenance', 'down'] as const;
export type NodeState = (typeof NODE_STATES)[number];

/** The state of each node that is not active, by `system/site/uri`. Never changed once made. */
export type NodeStates = ReadonlyMap<string, NodeState>;

/** An operator's decision about a site, or one node of it; the registry keeps them. */
export interface OperatorDecisionView {
  readonly system: string;
  readonly site: string;
  readonly node?: string;
  readonly state: 'active' | 'drain' | 'maintenance';
}

const WEIGHT = { active: 0, drain: 1, maintenance: 2 } as const;

/**
 * Puts operators' decisions and health together. A node is in the more restrictive of its own and its site's state;
 * health matters only where the operator lets the node be used at all.
 * @param isDown whether health says that the node is down
 */
export function nodeStates(
  snapshot: Snapshot,
  decisions: readonly OperatorDecisionView[],
  isDown: (nodeKey: string) => boolean,
): NodeStates {
  const said = new Map(decisions.map((one) => [nodeKey(one.system, one.site, one.node ?? ''), one.state]));
  const states = new Map<string, NodeState>();
  for (const system of snapshot.systems.values()) {
    for (const site of system.sites) {
      const ofSite = said.get(nodeKey(system.name, site.name, '')) ?? 'active';
      for (const { key } of site.nodes) {
        const ofNode = said.get(key) ?? 'active';
        const worse = WEIGHT[ofNode] > WEIGHT[ofSite] ? ofNode : ofSite;
        const state = worse !== 'maintenance' && isDown(key) ? 'down' : worse;
        if (state !== 'active') states.set(key, state);
      }
    }
  }
  return states;
}

export const ALL_ACTIVE: NodeStates = new Map();
