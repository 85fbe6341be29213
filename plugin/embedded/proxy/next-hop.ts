import { lookup as dnsLookup, resolveSrv as dnsSrv } from 'node:dns/promises';
import { isIP } from 'node:net';
import { parseUri, uriParam, type SipUri } from '../../message/uri';
import type { Clock } from '../clock';
import { plainAddress, type TransportName } from '../transport/flow';

/** Where a packet for a URI goes: an address, a port and a transport. */
export interface NextHop {
  readonly transport: TransportName;
  readonly address: string;
  readonly port: number;
}

/** Name look-ups, so that a test can answer them. */
export interface Resolver {
  /** Addresses of a host, best first. */
  addresses(host: string): Promise<readonly string[]>;
  /** SRV records (RFC 2782) of a service, best first. */
  services(name: string): Promise<readonly { readonly name: string; readonly port: number }[]>;
}

export const systemResolver: Resolver = {
  addresses: async (host) => (await dnsLookup(host, { all: true })).map(({ address }) => address),
  services: async (name) =>
    [...(await dnsSrv(name))].sort((a, b) => a.priority - b.priority || b.weight - a.weight),
};

const DEFAULT_PORT = 5060;
const CACHE_MS = 30_000;
const CACHE_ENTRIES = 1_000;

interface Target {
  readonly transport: TransportName;
  readonly explicit: boolean;
  readonly host: string;
  readonly port: number | undefined;
}

function targetOf(uri: SipUri): Target | undefined {
  if (uri.scheme !== 'sip' || uri.host === '') return undefined;
  const transport = uriParam(uri, 'transport');
  const name = typeof transport === 'string' ? transport.toLowerCase() : undefined;
  if (name !== undefined && name !== 'udp' && name !== 'tcp') return undefined;
  return { transport: name ?? 'udp', explicit: name !== undefined, host: uri.host, port: uri.port };
}

/** `host`, `host:port` and the like, as applications write targets, are SIP URIs without their scheme. */
export const asSipUri = (text: string): SipUri | undefined => parseUri(text) ?? parseUri(`sip:${text}`);

/**
 * Finds where a URI is reached: literal addresses at once, names by SRV (when no port is given) and address
 * records, kept 30 s (RFC 3263 without NAPTR; TLS is not a transport of this server).
 */
export class NextHops {
  readonly #resolver: Resolver;
  readonly #clock: Clock;
  readonly #cache = new Map<string, { readonly hop: Promise<NextHop | undefined>; readonly until: number }>();

  constructor(resolver: Resolver, clock: Clock) {
    this.#resolver = resolver;
    this.#clock = clock;
  }

  /** At once when the host is an address; undefined when the URI is none we can send to. */
  find(uri: SipUri): NextHop | undefined | Promise<NextHop | undefined> {
    const target = targetOf(uri);
    if (!target || target.port === 0) return undefined;
    const address = plainAddress(target.host);
    const { transport, port = DEFAULT_PORT } = target;
    return isIP(address) === 0 ? this.#lookup(target) : { transport, address, port };
  }

  #lookup(target: Target): Promise<NextHop | undefined> {
    const key = `${target.explicit ? target.transport : ''}|${target.host}|${target.port ?? ''}`;
    const now = this.#clock.now();
    const known = this.#cache.get(key);
    if (known && known.until > now) return known.hop;
    const hop = this.#resolve(target).catch(() => undefined);
    this.#cache.delete(key);
    this.#cache.set(key, { hop, until: now + CACHE_MS });
    if (this.#cache.size > CACHE_ENTRIES) {
      const [oldest] = this.#cache.keys();
      if (oldest !== undefined) this.#cache.delete(oldest);
    }
    return hop;
  }

  async #resolve(target: Target): Promise<NextHop | undefined> {
    const { transport, host, port } = target;
    if (port === undefined) {
      const candidates: TransportName[] = target.explicit ? [transport] : ['udp', 'tcp'];
      for (const candidate of candidates) {
        const [service] = await this.#resolver.services(`_sip._${candidate}.${host}`).catch(() => []);
        const [address] = service ? await this.#resolver.addresses(service.name).catch(() => []) : [];
        if (service && address !== undefined) return { transport: candidate, address, port: service.port };
      }
    }
    const [address] = await this.#resolver.addresses(host);
    return address === undefined ? undefined : { transport, address, port: port ?? DEFAULT_PORT };
  }
}
