import { lookup, resolveSrv } from 'node:dns/promises';
import { isIP } from 'node:net';
import { parseUri } from '../message/uri';

/** Name look-ups, so that a test can answer them. */
export interface Names {
  addresses(host: string): Promise<readonly unknown[]>;
  services(name: string): Promise<readonly unknown[]>;
}

const systemNames: Names = { addresses: (host) => lookup(host, { all: true }), services: resolveSrv };

/**
 * Says of a node that could not be reached that its name does not resolve, if so: SIP servers say only that they could not send. It
 * asks the resolver of this machine, once at a time for each name.
 */
export class NameFaults {
  readonly #names: Names;
  readonly #asked = new Map<string, Promise<string | undefined>>();

  constructor(names: Names = systemNames) {
    this.#names = names;
  }

  /** `undefined`: the host is an address or resolves, or that is not known within `limitMs`. Never rejects. */
  async of(uri: string, limitMs: number): Promise<string | undefined> {
    const { host = '', port } = parseUri(uri) ?? {};
    if (host === '' || isIP(host.replace(/^\[|\]$/g, '')) !== 0) return undefined;
    const asked = this.#asked.get(uri) ?? this.#ask(host, port).finally(() => this.#asked.delete(uri));
    this.#asked.set(uri, asked);
    let late: NodeJS.Timeout | undefined;
    const limit = new Promise<undefined>((resolve) => {
      late = setTimeout(() => resolve(undefined), limitMs);
    });
    try {
      return await Promise.race([asked, limit]);
    } finally {
      clearTimeout(late);
    }
  }

  async #ask(host: string, port: number | undefined): Promise<string | undefined> {
    try {
      await this.#names.addresses(host);
      return undefined;
    } catch (error) {
      // Without a port a name may have SRV records only (RFC 3263 §4.2).
      if (port === undefined && (await this.#hasServices(host))) return undefined;
      const code = error instanceof Error && 'code' in error ? ` (${String(error.code)})` : '';
      return `the name ${host} does not resolve${code}`;
    }
  }

  async #hasServices(host: string): Promise<boolean> {
    for (const transport of ['udp', 'tcp', 'tls']) {
      const service = transport === 'tls' ? `_sips._tcp.${host}` : `_sip._${transport}.${host}`;
      if ((await this.#names.services(service).catch(() => [])).length > 0) return true;
    }
    return false;
  }
}
