import { userInfo } from 'node:os';
import type { GroupView, SiteView } from '../../admin/views';
import { Refused, type AdminClient } from '../admin-client';
import { groupOf } from '../status';
import type { UpdateStep } from './plan';

/** What time and patience mean here; tests are quicker. */
export interface Patience {
  readonly pollMs: number;
  /** How long a state that was ordered may take to show. */
  readonly limitMs: number;
  /** Without a new request for so long a site counts as quiet. */
  readonly quietMs: number;
}

export const PATIENCE: Patience = { pollMs: 250, limitMs: 15_000, quietMs: 2000 };

/** The step can't be done now without breaking service, or what it waits for is not there. */
export class NotNow extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'NotNow';
  }
}

/** Checks a step's preconditions on the running instance and does it; says what it did. Throws NotNow or Refused. */
export function carryOutStep(client: AdminClient, step: UpdateStep, patience: Patience): Promise<string> {
  switch (step.kind) {
    case 'site_out':
      return siteOut(client, step.system, step.site, patience);
    case 'site_back':
      return siteBack(client, step.system, step.site, patience);
    case 'instance_out':
      return instanceOut(client, step.instance, patience);
    case 'instance_back':
      return instanceBack(client, step.instance);
  }
}

async function siteOut(
  client: AdminClient,
  system: string,
  site: string,
  patience: Patience,
): Promise<string> {
  const sites = await systemSites(client, system);
  const others = sites.filter((each) => each.site !== site);
  if (!others.some((each) => each.state === 'active' && each.nodes.some((node) => node.healthy)))
    throw new NotNow(`no other site of ${system} is active and healthy: nobody would take its calls`);
  await order(client, system, site, 'maintenance');
  const quiet = await isQuiet(client, system, site, patience);
  return `${system}/${site} is out of service${quiet ? ' and gets no requests' : ', but still gets requests (retries of challenges)'}`;
}

async function siteBack(
  client: AdminClient,
  system: string,
  site: string,
  patience: Patience,
): Promise<string> {
  const here = (await systemSites(client, system)).find((each) => each.site === site);
  const dead = here?.nodes.filter((node) => !node.healthy) ?? [];
  if (here === undefined) throw new NotNow(`there is no site ${system}/${site}`);
  if (dead.length > 0)
    throw new NotNow(dead.map((node) => `${node.uri} does not answer (${node.reason})`).join('; '));
  const held = here.nodes.filter(({ operator }) => operator !== null && operator.state !== 'active');
  if (held.length === here.nodes.length)
    throw new NotNow(
      held.map(({ uri, operator }) => `${uri} is in ${operator?.state} by ${operator?.by}`).join('; '),
    );
  await order(client, system, site, 'active');
  await until(patience, `${system}/${site} to become active`, async () => {
    const now = (await systemSites(client, system)).find((each) => each.site === site);
    return now?.state === 'active';
  });
  return `${system}/${site} is back; its accounts return with their next request`;
}

async function instanceOut(client: AdminClient, instance: string, patience: Patience): Promise<string> {
  const group = await groupNow(client);
  if (activeOf(group) !== instance) {
    if (activeOf(group) === undefined) throw new NotNow('no instance is active: update nothing now');
    return `${instance} is not active`;
  }
  if (instance !== group.instance)
    throw new NotNow(
      `${instance} is active: go on there, with the file of this plan, or run "dsbc handover" on it`,
    );
  const ready = group.peers.filter((peer) => peer.state === 'STANDBY');
  if (ready.length === 0) throw new NotNow('no standby is heard: nobody could take over');
  await client.post('/v1/ha/handover', {});
  await until(patience, 'another instance to become active', async () => {
    const active = activeOf(await groupNow(client));
    return active !== undefined && active !== instance;
  });
  return `the virtual IP has moved from ${instance} to another instance`;
}

async function instanceBack(client: AdminClient, instance: string): Promise<string> {
  const group = await groupNow(client);
  const state =
    instance === group.instance ? group.state : group.peers.find((peer) => peer.instance === instance)?.state;
  if (state !== 'STANDBY' && state !== 'ACTIVE')
    throw new NotNow(`${instance} is ${state ?? 'not part of the group'}, not a standby yet`);
  if (instance === group.instance && !group.sip_healthy)
    throw new NotNow(`${instance} has no healthy SIP server yet`);
  if (activeOf(group) === undefined) throw new NotNow('no instance is active');
  return `${instance} is back as ${state}`;
}

const activeOf = (group: GroupView): string | undefined =>
  group.state === 'ACTIVE' ? group.instance : group.peers.find((peer) => peer.state === 'ACTIVE')?.instance;

async function groupNow(client: AdminClient): Promise<GroupView> {
  const group = await groupOf(client);
  if (group === null) throw new NotNow('this instance stands alone');
  return group;
}

async function systemSites(client: AdminClient, system: string): Promise<readonly SiteView[]> {
  const { sites } = await client.get<{ sites: SiteView[] }>('/v1/sites');
  return sites.filter((each) => each.system === system);
}

async function order(
  client: AdminClient,
  system: string,
  site: string,
  state: 'maintenance' | 'active',
): Promise<void> {
  const path = `/v1/sites/${encodeURIComponent(system)}/${encodeURIComponent(site)}/state`;
  try {
    await client.put(path, { state, why: 'dsbc update', by: userInfo().username });
  } catch (error) {
    if (error instanceof Refused) throw new NotNow(error.message);
    throw error;
  }
}

/** True once no new request has been sent there for a while. */
async function isQuiet(
  client: AdminClient,
  system: string,
  site: string,
  patience: Patience,
): Promise<boolean> {
  const count = async (): Promise<number> => {
    const here = (await systemSites(client, system)).find((each) => each.site === site);
    return Object.values(here?.requests ?? {}).reduce((sum, each) => sum + each, 0);
  };
  const end = performance.now() + patience.limitMs;
  let before = await count();
  while (performance.now() < end) {
    await pause(patience.quietMs);
    const now = await count();
    if (now === before) return true;
    before = now;
  }
  return false;
}

async function until(patience: Patience, what: string, done: () => Promise<boolean>): Promise<void> {
  const end = performance.now() + patience.limitMs;
  while (!(await done())) {
    if (performance.now() > end) throw new NotNow(`waited ${patience.limitMs / 1000} s for ${what}`);
    await pause(patience.pollMs);
  }
}

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));
