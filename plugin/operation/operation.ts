import { OrderRefused, type EventAnswer, type GroupOperation, type Operation } from '../admin/operation';
import type { CustomerView, ReloadView } from '../admin/views';
import type { Dsbc } from '../main';
import { createEventHandler, type EventHandler } from '../registry/provisioning/handler';
import type { Registry } from '../registry/registry';
import { keepGauges } from './gauges';
import { groupOperation, refuseUnlessActive } from './group';
import { SitesDesk } from './sites';
import { cacheView, flowsView, readiness, registryState, status } from './status';

export interface OperationOptions {
  /** Reads the configuration file again and gives it to the instance. */
  readonly reload: () => Promise<ReloadView>;
  /** The monotonic clock that health uses too. */
  readonly now: () => number;
}

/** What the admin API shows and does, on an instance that runs, or is still to start. */
export function operationOf(dsbc: Dsbc, options: OperationOptions): Operation {
  const { now } = options;
  const startedAt = now();
  const sites = new SitesDesk(dsbc, now);
  let handler: EventHandler | undefined;
  const events = (): EventHandler | undefined => (handler ??= eventHandler(dsbc));
  const group = (): GroupOperation | undefined =>
    dsbc.group === undefined ? undefined : groupOperation(dsbc.config, dsbc.group);
  keepGauges(dsbc, sites, { events, group });
  const registry = (): Registry => {
    if (dsbc.registry === undefined) throw new OrderRefused('conflict', 'The registry is not open.');
    return dsbc.registry;
  };
  return {
    readiness: () => readiness(dsbc),
    status: () => status(dsbc, startedAt, now()),
    sites: () => sites.views(),
    orderSite: async (system, site, order) => {
      await refuseUnlessActive(dsbc.group, dsbc.registry?.driver);
      return sites.order(system, site, order);
    },
    registry: () => ({
      ...registryState(dsbc),
      lookups: cacheView(dsbc).events,
    }),
    lookup: async (kind, value) => {
      const answer = await registry().lookup({ kind, value });
      return answer === null ? null : { ...answer, kind, value };
    },
    customers: (limit) => firstCustomers(registry(), limit),
    customer: (id) => registry().getCustomer(id),
    exportCustomer: async (id, exported) => {
      const customer = await registry().getCustomer(id);
      if (customer === null) throw new OrderRefused('not_found', `There is no customer ${id}.`);
      const serving = exported ? customer.target : customer.source;
      if (!Object.hasOwn(dsbc.config.systems, serving))
        throw new OrderRefused(
          'conflict',
          `The configuration has no system ${serving}: it has ${Object.keys(dsbc.config.systems).join(', ')}.`,
        );
      const changed = { ...customer, exported };
      await registry().putCustomer(changed);
      return changed;
    },
    cache: () => cacheView(dsbc),
    dropCache: () => dsbc.cache?.invalidate({ type: 'all' }),
    flows: (limit, search) => flowsView(dsbc, limit, search),
    reload: options.reload,
    metrics: async () => ({ contentType: dsbc.metrics.contentType, text: await dsbc.metrics.text() }),
    event: (event, sender) => events()?.handle(event, sender) ?? Promise.resolve(NOT_OPEN),
    get group() {
      return group();
    },
  };
}

/** To a sender of events: try again. */
const NOT_OPEN: EventAnswer = {
  status: 503,
  headers: { 'retry-after': '5' },
  body: { error: 'the registry is not open yet' },
};

/** Provisioning events change the registry, which tells the cache. */
function eventHandler({ registry, config, log }: Dsbc): EventHandler | undefined {
  if (registry === undefined) return undefined;
  return createEventHandler({ store: registry, systems: Object.keys(config.systems), log });
}

async function firstCustomers(
  registry: Registry,
  limit: number,
): Promise<{ customers: CustomerView[]; more: boolean }> {
  const customers: CustomerView[] = [];
  for await (const customer of registry.customers()) {
    if (customers.length === limit) return { customers, more: true };
    customers.push(customer);
  }
  return { customers, more: false };
}
