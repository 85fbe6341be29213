import { randomBytes } from 'node:crypto';
import { readTlsFiles } from '../config/tls-files';
import type { Config, SipServerConfig } from '../config/types';
import { startEmbeddedServer, type EmbeddedServer, type TokenFlow, type UdpErrorQueue } from '../embedded';
import { DsbcError } from '../errors';
import { createLink, untilConnected, type LinkConfig } from '../link/create-link';
import type { SipLink } from '../link/sip-link';
import type { FlowTokens } from '../nat/flow-token';
import type { Logger } from '../telemetry/logger';
import type { TalliedLines } from '../telemetry/tallied-lines';
import { entryTrouble } from './entry-check';

export interface SipServersParts {
  readonly config: Config;
  readonly tokens: () => FlowTokens;
  readonly log: Logger;
  /** What is not let through or not readable is counted here. */
  readonly tallies: Pick<TalliedLines, 'note'>;
  /** For embedded servers: how they hear of requests to closed ports. */
  readonly errorQueue?: (() => UdpErrorQueue) | undefined;
}

/** How long a start waits for a drachtio-server; one that comes later is taken as well. */
const CONNECT_MS = 5000;

/** The SIP servers of a configuration, embedded ones started here, with a link to each. */
export class SipServers {
  readonly #parts: SipServersParts;
  readonly #links = new Map<string, SipLink>();
  readonly #embedded = new Map<string, EmbeddedServer>();

  constructor(parts: SipServersParts) {
    this.#parts = parts;
  }

  /** Links by the names of their servers. */
  get links(): ReadonlyMap<string, SipLink> {
    return this.#links;
  }

  /** Embedded servers by name, for tests and metrics. */
  get embedded(): ReadonlyMap<string, EmbeddedServer> {
    return this.#embedded;
  }

  /** The link whose server has this entry address; also when only the address fits, as behind a port mapping. */
  linkOf(entry: { readonly address: string; readonly port: number }): SipLink | undefined {
    const links = [...this.#links.values()];
    const exact = links.find((link) =>
      link.addresses.some((one) => one.address === entry.address && one.port === entry.port),
    );
    return exact ?? links.find((link) => link.addresses.some((one) => one.address === entry.address));
  }

  /** The configured servers, as `name address:port`: those that are connected, and those that are not. */
  standing(): { readonly servers: readonly string[]; readonly missing: readonly string[] } {
    const names = (isUp: boolean): readonly string[] =>
      this.#parts.config.sip_servers
        .filter(({ name }) => (this.#links.get(name)?.state === 'connected') === isUp)
        .map(({ name, entry }) => `${name} ${entry.address}:${entry.port}`);
    return { servers: names(true), missing: names(false) };
  }

  /** Why a server is not connected, or that a connected one does not listen on its entry address. */
  trouble(name: string): string | undefined {
    const link = this.#links.get(name);
    return link === undefined || link.state === 'connected' ? this.entryTrouble(name) : link.trouble;
  }

  /** Whether and where a connected server listens instead of at its entry address. */
  entryTrouble(name: string): string | undefined {
    const link = this.#links.get(name);
    const server = this.#parts.config.sip_servers.find((one) => one.name === name);
    return link === undefined || server === undefined ? undefined : entryTrouble(server, link);
  }

  /** A link made elsewhere: the application's own connection. */
  adopt(link: SipLink): void {
    this.#links.set(link.name, link);
  }

  /** Waits for the server of a link; one that comes later is taken as well. */
  async reach(link: SipLink): Promise<void> {
    try {
      await untilConnected(link, CONNECT_MS);
    } catch {
      const { name, control, trouble } = link;
      this.#parts.log.error(
        { server: name, control, reason: trouble },
        'SIP server not reached yet; trying on',
      );
    }
  }

  /**
   * Starts embedded servers and connects to all; `prepare` sees each link before its first request can come.
   * @throws DsbcError DSBC_PORT_TAKEN when an embedded server can't have its address
   */
  async start(prepare: (link: SipLink) => void): Promise<void> {
    const { config, log } = this.#parts;
    await Promise.all(
      config.sip_servers.map(async (server, index) => {
        const linkConfig = await this.#linkConfig(server, index);
        const secretName = `sip_servers[${index}].control.secret`;
        const link = createLink({ ...linkConfig, secretName }, { log });
        this.#links.set(server.name, link);
        prepare(link);
        await this.reach(link);
      }),
    );
  }

  async stop(): Promise<void> {
    await Promise.all([...this.#links.values()].map((link) => link.close()));
    await Promise.all([...this.#embedded.values()].map((server) => server.close()));
    this.#links.clear();
    this.#embedded.clear();
  }

  async #linkConfig(server: SipServerConfig, index: number): Promise<LinkConfig> {
    if (server.server === 'embedded') {
      const secret = randomBytes(16).toString('hex');
      const embedded = await this.#startEmbedded(server, secret);
      return { name: server.name, host: '127.0.0.1', port: embedded.controlPort, secret };
    }
    const { control } = server;
    return {
      name: server.name,
      host: control.host,
      port: control.port,
      secret: control.secret,
      ...(control.capture_port === undefined ? {} : { capturePort: control.capture_port }),
      ...(control.tls ? { tls: readTlsFiles(['sip_servers', index, 'control'], control) } : {}),
      times: {
        requestTimeoutMs: control.request_timeout_ms,
        pingIntervalMs: control.ping_interval_ms,
        pingTimeoutMs: control.ping_timeout_ms,
        maxReconnectDelayMs: control.reconnect_max_ms,
      },
    };
  }

  async #startEmbedded(
    server: Extract<SipServerConfig, { server: 'embedded' }>,
    secret: string,
  ): Promise<EmbeddedServer> {
    const { config, tokens, log, tallies, errorQueue } = this.#parts;
    const { address, port, transports } = server.entry;
    const keys = config.nat.keys.map((key) => key.secret);
    try {
      const embedded = await startEmbeddedServer({
        addresses: [{ address, port, transports }],
        control: { host: '127.0.0.1', port: 0, secret },
        logger: log.child({ server: server.name }),
        onMalformed: (message) =>
          tallies.note(
            `malformed ${message.source}`,
            { server: server.name, ...message },
            'malformed messages',
          ),
        verifyFlow: (user) => tokenFlow(tokens(), user),
        ...(errorQueue === undefined ? {} : { errorQueue }),
        // Instances of a group share these, so that each forwards the in-dialog requests of all.
        ...(keys.length === 0 ? {} : { routeKeys: keys }),
      });
      this.#embedded.set(server.name, embedded);
      return embedded;
    } catch (cause) {
      throw startError(server.name, `${address}:${port}`, cause);
    }
  }
}

function startError(name: string, address: string, cause: unknown): unknown {
  const code = (cause as NodeJS.ErrnoException).code;
  if (code === 'EADDRINUSE') {
    return new DsbcError('DSBC_PORT_TAKEN', `SIP server '${name}': ${address} is taken by another program`, {
      cause,
      details: { server: name, address },
    });
  }
  if (code === 'EADDRNOTAVAIL') {
    const hint = 'this machine does not have that address (a standby needs net.ipv4.ip_nonlocal_bind=1)';
    return new DsbcError('DSBC_PORT_TAKEN', `SIP server '${name}': ${address}: ${hint}`, {
      cause,
      details: { server: name, address },
    });
  }
  return cause;
}

/** What the embedded server asks of a token in its Record-Route. */
function tokenFlow(tokens: FlowTokens, user: string): TokenFlow | undefined {
  const read = tokens.read(user);
  if (read.kind !== 'ok') return undefined;
  const { entry, transport, remote } = read.flow;
  if (transport !== 'udp' && transport !== 'tcp') return undefined;
  return { entry, transport, address: remote.address, port: remote.port };
}
