import { canonicalHost } from './address';

/** An address phones and vendors send to. */
export interface EntryAddress {
  readonly address: string;
  readonly port: number;
}

/**
 * Every name under which a URI means us: entry addresses (the VIP, each alias) with their ports, and the domains we
 * serve. A URI without a port that names one of our addresses is ours too: phones leave the port out.
 */
export class OwnNames {
  readonly #ports = new Map<string, Set<number>>();
  readonly #domains = new Set<string>();

  constructor(entries: readonly EntryAddress[], domains: readonly string[]) {
    for (const { address, port } of entries) {
      const host = canonicalHost(address);
      const ports = this.#ports.get(host) ?? new Set<number>();
      this.#ports.set(host, ports.add(port));
    }
    for (const domain of domains) this.#domains.add(canonicalHost(domain));
  }

  /** A domain we serve, whatever its port. */
  isDomain(host: string): boolean {
    return this.#domains.has(canonicalHost(host));
  }

  /** One of our addresses, at one of our ports. */
  isAddress(host: string, port: number | undefined): boolean {
    const ports = this.#ports.get(canonicalHost(host));
    return ports !== undefined && (port === undefined || ports.has(port));
  }

  has(host: string, port: number | undefined): boolean {
    return this.isDomain(host) || this.isAddress(host, port);
  }
}
