/**
 * One step of a zero-downtime update. `_out` and `_back` are done by dsbc; between them the operator updates what was taken
 * out, and says so by going on.
 */
export type UpdateStep =
  | { readonly kind: 'site_out' | 'site_back'; readonly system: string; readonly site: string }
  | { readonly kind: 'instance_out' | 'instance_back'; readonly instance: string };

/** A plan and how far it is; kept in a file, because the instances it updates restart meanwhile. */
export interface UpdatePlan {
  readonly version: 1;
  readonly created: string;
  readonly steps: readonly UpdateStep[];
  /** How many of the steps are done. */
  readonly done: number;
}

/** What a plan is made from. */
export interface UpdateScope {
  readonly system: string;
  /** All sites of the system, the main one first. */
  readonly sites: readonly string[];
  /** All instances of the group, the active one last; empty if this one stands alone. */
  readonly instances: readonly string[];
}

/** The order that keeps service up: main site, DSBC servers one by one (the active one last), secondary sites. */
export function makePlan({ system, sites, instances }: UpdateScope, created: string): UpdatePlan {
  const [main, ...secondary] = sites;
  const siteSteps = (site: string): UpdateStep[] => [
    { kind: 'site_out', system, site },
    { kind: 'site_back', system, site },
  ];
  const steps = [
    ...(main === undefined ? [] : siteSteps(main)),
    ...instances.flatMap((instance): UpdateStep[] => [
      { kind: 'instance_out', instance },
      { kind: 'instance_back', instance },
    ]),
    ...secondary.flatMap(siteSteps),
  ];
  return { version: 1, created, steps, done: 0 };
}

/** A step in words. */
export function describeStep(step: UpdateStep): string {
  switch (step.kind) {
    case 'site_out':
      return `take site ${step.system}/${step.site} out of service`;
    case 'site_back':
      return `bring site ${step.system}/${step.site} back`;
    case 'instance_out':
      return `see that instance ${step.instance} is not active`;
    case 'instance_back':
      return `see that instance ${step.instance} is back as a standby`;
  }
}

/** What the operator does once a step is done. */
export function handWork(step: UpdateStep): string | undefined {
  if (step.kind === 'site_out') return `Now update site ${step.system}/${step.site}. Then: dsbc update next`;
  if (step.kind === 'instance_out')
    return `Now update and restart dsbc and drachtio-server on ${step.instance}. Then: dsbc update next`;
  return undefined;
}

/** Reads a plan that was written by JSON.stringify; undefined if it is none. */
export function readPlan(text: string): UpdatePlan | undefined {
  try {
    const value = JSON.parse(text) as Partial<UpdatePlan> | null;
    if (value?.version !== 1 || !Array.isArray(value.steps) || typeof value.done !== 'number')
      return undefined;
    return value as UpdatePlan;
  } catch {
    return undefined;
  }
}
