import { SimulatedPhone, type PhoneOptions } from './simulated-phone';
import { SimulatedSite } from './simulated-site';
import type { Remote } from './udp-party';

export const SYSTEMS = ['source', 'target'] as const;
export type SystemName = (typeof SYSTEMS)[number];

/** Accounts of a system are its first one and those after it; the registry gets ACCOUNTS of each. */
const FIRST_ACCOUNT: Readonly<Record<SystemName, number>> = { source: 10_000, target: 20_000 };
export const ACCOUNTS = 2000;
const DIDS = 20;

/** Where the vendor of the demo sends from: a peer by its address. */
export const VENDOR_ADDRESS = '127.0.0.50';
const PHONE_ADDRESS = '127.0.0.1';

export interface Did {
  readonly number: string;
  readonly system: SystemName;
  readonly account: string;
}

/** An operator's hand on the running DSBC. */
export interface SiteControl {
  setSite(system: string, site: string, state: 'active' | 'maintenance'): Promise<void>;
}

/** The simulated surroundings of the DSBC under demonstration: sites, phones, a vendor. */
export class World {
  readonly sites: readonly SimulatedSite[] = SYSTEMS.flatMap((system) => [
    new SimulatedSite(system, 'main'),
    new SimulatedSite(system, 'secondary'),
  ]);
  readonly dids: readonly Did[] = Array.from({ length: DIDS }, (_, i) => {
    const system = SYSTEMS[i % 2] ?? 'source';
    return {
      number: `+1202555${String(100 + i).padStart(4, '0')}`,
      system,
      account: this.account(system, 700 + i),
    };
  });
  readonly vendor: SimulatedPhone;
  private readonly open: SimulatedPhone[] = [];

  constructor(
    readonly entry: Remote,
    private readonly control: SiteControl,
  ) {
    this.vendor = new SimulatedPhone({ account: 'vendor', proxy: entry, domain: 'example.com' });
  }

  /** Binds the sites (before the DSBC starts: its configuration names their ports). */
  async bindSites(): Promise<void> {
    for (const [i, site] of this.sites.entries()) await site.bind(`127.0.0.${21 + i}`, 0);
    await this.vendor.bind(VENDOR_ADDRESS, 0);
  }

  account(system: SystemName, index: number): string {
    return String(FIRST_ACCOUNT[system] + index);
  }

  systemOf(account: string): SystemName {
    return Number(account) < FIRST_ACCOUNT.target ? 'source' : 'target';
  }

  async phones(system: SystemName, count: number): Promise<SimulatedPhone[]> {
    const phones: SimulatedPhone[] = [];
    for (let i = 0; i < count; i += 1) phones.push(await this.phone(this.account(system, i)));
    return phones;
  }

  async phone(account: string, options: Pick<PhoneOptions, 'believes'> = {}): Promise<SimulatedPhone> {
    const phone = new SimulatedPhone({ account, proxy: this.entry, domain: 'example.com', ...options });
    await phone.bind(PHONE_ADDRESS, 0);
    this.open.push(phone);
    return phone;
  }

  /** Takes a site out (or in); `back` undoes it. Resolves when the DSBC follows. */
  async setSite(system: string, site: string, state: 'maintenance'): Promise<{ back(): Promise<void> }> {
    await this.control.setSite(system, site, state);
    return { back: () => this.control.setSite(system, site, 'active') };
  }

  /** Requests by method for each site, OPTIONS (health probes) not counted. */
  counts(): Record<string, Record<string, number>> {
    return Object.fromEntries(this.sites.map((site) => [site.name, { ...site.counts }]));
  }

  async close(): Promise<void> {
    await Promise.all([...this.sites, ...this.open, this.vendor].map((party) => party.close()));
  }
}
