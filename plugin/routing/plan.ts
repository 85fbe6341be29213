import type { Destination, Plan, Step } from './decision';
import { hashText, unitOf } from './hash';
import { turnOf } from './rotation';
import { backupOrder, weightedWinner } from './share';
import type { NodeModel, SiteModel, SystemModel } from './snapshot';
import type { NodeState, NodeStates } from './states';

/** A node by its names. */
export interface NodeName {
  readonly system: string;
  readonly site: string;
  readonly node: string;
}

/** What a plan is made from beyond the system itself. */
export interface PlanRequest {
  /** The text whose hash chooses the site: the account, or the Call-ID. */
  readonly affinityKey: string;
  /** The turn, where the system's affinity is `none`. */
  readonly turn: number;
  /** The site the registry pins the key to. */
  readonly pinned?: string | undefined;
  /** Where the key was served lately: a draining site keeps what it has. */
  readonly seenAt?: string | undefined;
  /** A site that must not get the request: the one it came from. */
  readonly exclude?: string | undefined;
  /** The node whose challenge this request answers. */
  readonly challenger?: NodeName | undefined;
}

/** A plan, or why there is none. */
export type PlanResult =
  | { readonly kind: 'plan'; readonly plan: Plan; readonly afterChallenge: boolean }
  | { readonly kind: 'none'; readonly why: 'maintenance' | 'only_source' };

type Tier = 'active' | 'drain' | 'down';

/** Which tier of use a site is in: of its nodes the best one decides; undefined if all are in maintenance. */
function tierOf(site: SiteModel, states: NodeStates): Tier | undefined {
  let tier: Tier | undefined;
  for (const { key } of site.nodes) {
    const state = states.get(key);
    if (state === undefined || state === 'active') return 'active';
    if (state === 'drain') tier = 'drain';
    else if (state === 'down') tier ??= 'down';
  }
  return tier;
}

/** The nodes of a site that are in a given state, in the order this key tries them. */
function nodesOf(
  site: SiteModel,
  states: NodeStates,
  state: NodeState,
  keyHash: number,
): readonly NodeModel[] {
  const usable =
    states.size === 0 && state === 'active'
      ? site.nodes
      : site.nodes.filter(({ key }) => (states.get(key) ?? 'active') === state);
  if (usable.length < 2) return usable;
  return [...usable].sort((a, b) => unitOf(keyHash, a.seed) - unitOf(keyHash, b.seed));
}

/** The sites in the order this key tries them, were all of them in; the first one is the key's own. */
function siteOrder(
  system: SystemModel,
  states: NodeStates,
  request: PlanRequest,
  keyHash: number,
): readonly number[] {
  const { sites } = system;
  if (sites.length === 1) return [0];
  const pinned = request.pinned === undefined ? -1 : sites.findIndex((site) => site.name === request.pinned);
  if (system.affinity === 'none') return turnOrder(system, states, request, pinned);
  const first = pinned >= 0 ? pinned : weightedWinner(sites, keyHash);
  if (sites.length === 2) return first === 0 ? FIRST_SECOND : SECOND_FIRST;
  const order = backupOrder(sites, keyHash);
  if (first < 0 || order[0] === first) return order;
  const moved = [first];
  for (const i of order) if (i !== first) moved.push(i);
  return moved;
}

const FIRST_SECOND = [0, 1] as const;
const SECOND_FIRST = [1, 0] as const;

/**
 * The order under affinity `none`: the site whose turn it is, then those that inherit its turn, one after the other
 * as it loses more of them. Backups come behind the sites with a share, and what can't be used now comes last, so
 * that the turns of a missing site are dealt out equally over those that really take them.
 */
function turnOrder(
  { sites, schedule }: SystemModel,
  states: NodeStates,
  request: PlanRequest,
  pinned: number,
): readonly number[] {
  const { site, nth } = turnOf(schedule, request.turn);
  const first = pinned >= 0 ? pinned : site;
  const heirs: number[] = [];
  const backups: number[] = [];
  const out: number[] = [];
  sites.forEach((one, i) => {
    if (i === first) return;
    const usable = one.name !== request.exclude && (states.size === 0 || tierOf(one, states) === 'active');
    (usable ? (one.share > 0 ? heirs : backups) : out).push(i);
  });
  const start = heirs.length === 0 ? 0 : nth % heirs.length;
  return [first, ...heirs.slice(start), ...heirs.slice(0, start), ...backups, ...out];
}

/**
 * The ordered destinations of one request: the key's own site first, its nodes one after the other, then the sites
 * that would inherit it. Never a site of another system, never a node in maintenance. Draining sites follow only when
 * no active one is left; nodes that only health took out are tried, in order, when nothing else is (fail open).
 * The one exception: the node whose challenge is being answered comes first whatever its state, since no other
 * could check the answer.
 */
export function makePlan(
  system: SystemModel,
  states: NodeStates,
  request: PlanRequest,
  steps?: Step[],
): PlanResult {
  const keyHash = hashText(request.affinityKey);
  const order = siteOrder(system, states, request, keyHash);
  const plan: Destination[] = [];
  const challenger = challengerOf(system, request);
  if (challenger !== undefined) {
    plan.push(challenger);
    steps?.push({
      step: 'node',
      because: `${challenger.uri} of ${challenger.site} sent the challenge this answers`,
    });
  }
  if (request.seenAt !== undefined) addDraining(system, states, request.seenAt, keyHash, plan, steps);
  let excluded = false;
  for (const tier of ['active', 'drain', 'down'] as const) {
    for (const i of order) {
      const site = system.sites[i];
      if (site === undefined || (states.size > 0 && tierOf(site, states) !== tier)) continue;
      if (site.name === request.exclude) {
        excluded = true;
        continue;
      }
      for (const node of nodesOf(site, states, tier, keyHash)) {
        if (node.destination !== challenger) plan.push(node.destination);
      }
    }
    if (plan.length > 0) {
      if (steps !== undefined) explain(system, states, request, order, tier, plan, steps);
      return { kind: 'plan', plan, afterChallenge: challenger !== undefined };
    }
    if (states.size === 0) break;
  }
  return { kind: 'none', why: excluded ? 'only_source' : 'maintenance' };
}

function challengerOf(system: SystemModel, request: PlanRequest): Destination | undefined {
  const { challenger } = request;
  if (challenger === undefined || challenger.system !== system.name) return undefined;
  const site = system.sites.find((one) => one.name === challenger.site);
  return site?.nodes.find((node) => node.destination.node === challenger.node)?.destination;
}

/** A draining site keeps the accounts it served lately: it comes first for them. */
function addDraining(
  system: SystemModel,
  states: NodeStates,
  seenAt: string,
  keyHash: number,
  plan: Destination[],
  steps: Step[] | undefined,
): void {
  const site = system.sites.find((one) => one.name === seenAt);
  if (site === undefined || tierOf(site, states) !== 'drain') return;
  const known = plan[0];
  for (const node of nodesOf(site, states, 'drain', keyHash)) {
    if (node.destination !== known) plan.push(node.destination);
  }
  steps?.push({
    step: 'site',
    because: `${site.name} is draining and served this account lately, so it keeps it`,
  });
}

function explain(
  system: SystemModel,
  states: NodeStates,
  request: PlanRequest,
  order: readonly number[],
  tier: Tier,
  plan: Plan,
  steps: Step[],
): void {
  const own = system.sites[order[0] ?? -1];
  const chosen = plan[0];
  if (own === undefined || chosen === undefined) return;
  if (request.pinned !== undefined && !system.sites.some((site) => site.name === request.pinned)) {
    steps.push({
      step: 'site',
      because: `the registry pins the key to site ${request.pinned}, which system ${system.name} does not have: it counts as not pinned`,
    });
  }
  const by =
    request.pinned === own.name
      ? 'the registry pins the key to it'
      : system.affinity === 'none'
        ? 'it is its turn'
        : `it is the ${system.affinity === 'call' ? "call's" : "account's"} own by its share of ${percent(own.share)}`;
  if (chosen.site === own.name) {
    steps.push({ step: 'site', because: `${own.name} of system ${system.name}: ${by}` });
  } else {
    const out = tierOf(own, states) ?? 'maintenance';
    steps.push({
      step: 'site',
      because: `${chosen.site} of system ${system.name}: ${own.name} would be first (${by}) but is ${out === 'active' ? 'passed over' : out}`,
    });
  }
  if (tier === 'down') {
    steps.push({ step: 'site', because: 'health says that every site is down: they are tried all the same' });
  }
  steps.push({
    step: 'node',
    because: plan.map(({ site, uri }) => `${uri} (${site})`).join(', then '),
  });
}

const percent = (share: number): string => `${Math.round(share * 1000) / 10} %`;
