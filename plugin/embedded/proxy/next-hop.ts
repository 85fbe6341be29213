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
/** A look-up that failed is tried again after so long. */
const RETRY_MS = 1_000;
const CACHE_ENTRIES = 1_000;

/** What DNS says when it cannot be asked now; anything else is its answer. */
const TEMPORARY = new Set(['EAI_AGAIN', 'ECANCELLED', 'ECONNREFUSED', 'EREFUSED', 'ESERVFAIL', 'ETIMEOUT']);

const isTemporary = (error: unknown): boolean =>
  typeof error === 'object' && error !== null && 'code' in error && TEMPORARY.has(String(error.code));

/** One name: what its latest look-up gives, how long that holds, and what was found last. */
interface Looked {
  hop: Promise<NextHop | undefined>;
  until: number;
  last: NextHop | undefined;
}

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
 * records, kept 30 s (RFC 3263 without NAPTR; TLS is not a transport of this server). While DNS cannot be asked, what it said last
 * holds on; a name that is not found is looked up again after a second.
 */
export class NextHops {
  readonly #resolver: Resolver;
  readonly #clock: Clock;
  readonly #cache = new Map<string, Looked>();

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
    const last = known?.last;
    const looked: Looked = { hop: Promise.resolve(last), until: now + CACHE_MS, last };
    looked.hop = this.#ask(target, looked);
    this.#cache.delete(key);
    this.#cache.set(key, looked);
    if (this.#cache.size > CACHE_ENTRIES) {
      const [oldest] = this.#cache.keys();
      if (oldest !== undefined) this.#cache.delete(oldest);
    }
    return looked.hop;
  }

  async #ask(target: Target, looked: Looked): Promise<NextHop | undefined> {
    try {
      const found = await this.#resolve(target, looked.last !== undefined);
      looked.last = found;
      if (found !== undefined) return found;
    } catch (error) {
      if (!isTemporary(error)) looked.last = undefined;
    }
    looked.until = this.#clock.now() + RETRY_MS;
    return looked.last;
  }

  /** @param isKnown a record that cannot be asked for now is not taken for one that is not there */
  async #resolve(target: Target, isKnown: boolean): Promise<NextHop | undefined> {
    const none = (error: unknown): [] => {
      if (isKnown && isTemporary(error)) throw error;
      return [];
    };
    const { transport, host, port } = target;
    if (port === undefined) {
      const candidates: TransportName[] = target.explicit ? [transport] : ['udp', 'tcp'];
      for (const candidate of candidates) {
        const [service] = await this.#resolver.services(`_sip._${candidate}.${host}`).catch(none);
        const [address] = service ? await this.#resolver.addresses(service.name).catch(none) : [];
        if (service && address !== undefined) return { transport: candidate, address, port: service.port };
      }
    }
    const [address] = await this.#resolver.addresses(host);
    return address === undefined ? undefined : { transport, address, port: port ?? DEFAULT_PORT };
  }
}
