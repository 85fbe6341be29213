import type { SharedLink } from '../link/create-link';
import type { SipLink } from '../link/sip-link';
import type { BindingTable } from '../nat/bindings';
import type { SipServers } from '../servers/sip-servers';
import type { Logger } from '../telemetry/logger';
import type { MetricsRegistry } from '../telemetry/metrics';
import type { Membership } from './membership';

export interface LinkWatchParts {
  readonly servers: SipServers;
  /** The link over an application's own connection. */
  readonly shared: SharedLink | undefined;
  readonly bindings: BindingTable;
  /** The place in the group, once there is one. */
  readonly membership: () => Membership | undefined;
  readonly isRunning: () => boolean;
  readonly metrics: MetricsRegistry;
  readonly log: Logger;
}

/** What becomes of the links to the SIP servers: in metrics and log, for the group, and for the flows that end. */
export class LinkWatch {
  readonly #parts: LinkWatchParts;
  #saidServing = false;

  constructor(parts: LinkWatchParts) {
    this.#parts = parts;
  }

  watch(link: SipLink): void {
    link.onState((state) => this.#changed(link, state));
    link.onFlowClosed(({ transport, address, port }) => {
      const entry = link.addresses.find((one) => one.transport === transport) ?? link.addresses[0];
      if (entry !== undefined) this.#parts.bindings.dropFlow({ entry, transport, remote: { address, port } });
    });
  }

  /** Says once that it serves, with the servers that are still missing; without any it says that it does not. */
  saySo(): void {
    const { isRunning, shared, log } = this.#parts;
    if (!isRunning() || this.#saidServing) return;
    const { servers, missing } = this.#parts.servers.standing();
    this.#saidServing = servers.length > 0;
    if (this.#saidServing) log.info({ servers, ...(missing.length > 0 ? { missing } : {}) }, 'serving');
    else if (shared?.isConnecting() === false)
      log.warn({ missing }, 'not serving: srf.connect has not been called');
    else log.warn({ missing }, 'not serving: no SIP server is connected; trying on');
  }

  /** Tells the group whether calls can be served here at all. */
  tellGroup(): void {
    const links = [...this.#parts.servers.links.values()];
    const connected = links.length > 0 && links.every((link) => link.state === 'connected');
    const membership = this.#parts.membership();
    membership?.group.setSipHealthy(connected && membership.sipAnswers);
  }

  #changed(link: SipLink, state: SipLink['state']): void {
    const { metrics, log, servers } = this.#parts;
    metrics.set('dsbc_sip_server_up', { server: link.name }, state === 'connected' ? 1 : 0);
    if (state === 'lost') metrics.add('dsbc_sip_server_losses_total', { server: link.name });
    const line = { server: link.name, state };
    if (state === 'connected') this.#parts.membership()?.connected(link.name);
    this.tellGroup();
    if (state === 'lost') log.error(line, 'SIP server lost');
    else log.info(line, 'SIP server');
    if (state !== 'connected') return;
    const misplaced = servers.entryTrouble(link.name);
    if (misplaced !== undefined) log.warn({ server: link.name }, misplaced);
    this.saySo();
  }
}
