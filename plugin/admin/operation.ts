import type {
  CacheView,
  CustomerView,
  FlowsView,
  GroupView,
  LookupView,
  ReadinessView,
  RegistryView,
  ReloadView,
  SiteOrder,
  SiteView,
  StatusView,
} from './views';

/** How a provisioning event is answered: 200 only when it is durable and the local cache clean. */
export interface EventAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Readonly<Record<string, unknown>>;
}

/** Why an order was not carried out: what the caller asked for is not there, or would break service. */
export class OrderRefused extends Error {
  readonly kind: 'not_found' | 'conflict';
  constructor(kind: 'not_found' | 'conflict', message: string) {
    super(message);
    this.name = 'OrderRefused';
    this.kind = kind;
  }
}

/** The group this instance is part of. */
export interface GroupOperation {
  group(): Promise<GroupView>;
  /** Hands the VIP over. Throws OrderRefused if this instance is not active or the other is not ready. */
  handOver(to: string | undefined): Promise<void>;
  /** Keeps this instance from serving, or lets it again. */
  maintain(on: boolean): Promise<void>;
}

/** What the admin API shows and does. operation/ gives an implementation; orders throw OrderRefused. */
export interface Operation {
  readiness(): ReadinessView;
  status(): Promise<StatusView>;
  sites(): Promise<readonly SiteView[]>;
  /** Stores an operator's decision; every instance follows within 2 s. */
  orderSite(system: string, site: string, order: SiteOrder): Promise<SiteView>;
  registry(): RegistryView;
  /** Asks the registry itself, not the cache. */
  lookup(kind: 'account' | 'did', value: string): Promise<LookupView | null>;
  customers(limit: number): Promise<{ readonly customers: readonly CustomerView[]; readonly more: boolean }>;
  customer(id: string): Promise<CustomerView | null>;
  /** Moves a customer to its target (true) or back to its source (false): one write. */
  exportCustomer(id: string, exported: boolean): Promise<CustomerView>;
  cache(): CacheView;
  /** Forgets all cached answers. */
  dropCache(): void;
  flows(limit: number, search: string): FlowsView;
  /** Reads the configuration file again. Rejects with DSBC_CONFIG_INVALID, and then nothing has changed. */
  reload(): Promise<ReloadView>;
  /** Prometheus text. */
  metrics(): Promise<{ readonly contentType: string; readonly text: string }>;
  /** Absent: provisioning events are not taken (404). */
  readonly event?: ((event: unknown, sender: string | undefined) => Promise<EventAnswer>) | undefined;
  /** Absent: this instance stands alone. */
  readonly group?: GroupOperation | undefined;
}
