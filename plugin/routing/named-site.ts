import type { SiteModel, Snapshot, SystemModel } from './snapshot';

/** A site that somebody named, or that it is not there and what is. */
export type NamedSite =
  | { readonly ok: true; readonly system: SystemModel; readonly site: SiteModel }
  | { readonly ok: false; readonly reason: string };

/** Finds a site by the names of the configuration. */
export function namedSite({ systems }: Snapshot, systemName: string, siteName: string): NamedSite {
  const system = systems.get(systemName);
  if (system === undefined)
    return {
      ok: false,
      reason: `There is no system ${systemName}: the configuration has ${[...systems.keys()].join(', ')}.`,
    };
  const site = system.sites.find(({ name }) => name === siteName);
  if (site !== undefined) return { ok: true, system, site };
  const names = system.sites.map(({ name }) => name);
  return {
    ok: false,
    reason: `There is no site ${systemName}/${siteName}: system ${systemName} has ${names.join(', ')}.`,
  };
}
