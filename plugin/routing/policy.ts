import { canonicalHost } from './address';
import type { Snapshot } from './snapshot';

/** Why a destination outside may be called, and whether such calls leave through us. */
export interface OutboundPolicy {
  /** Name of the peer, or the rule's host. */
  readonly rule: string;
  /** False: the site is told to go there itself (302). */
  readonly forceThroughUs: boolean;
  readonly maxPerSecond?: number;
  /** It is a peer whose identity headers count. */
  readonly believed?: boolean;
}

/**
 * Whether our sites may call this host through us: peers always, else by the first outbound rule that names it.
 * Undefined: not allowed.
 */
export function outboundPolicy(snapshot: Snapshot, host: string): OutboundPolicy | undefined {
  const source = snapshot.sources.find(host);
  if (source?.role === 'peer') {
    const { name, force_route_through_dsbc: force = true, trust_identity: believed = false } = source.peer;
    return { rule: name, forceThroughUs: force, believed };
  }
  const wanted = canonicalHost(host);
  for (const rule of snapshot.outbound) {
    const matches = rule.host.startsWith('*.')
      ? wanted.endsWith(rule.host.slice(1).toLowerCase())
      : canonicalHost(rule.host) === wanted;
    if (!matches) continue;
    return {
      rule: rule.host,
      forceThroughUs: rule.force_route_through_dsbc ?? true,
      ...(rule.max_requests_per_s === undefined ? {} : { maxPerSecond: rule.max_requests_per_s }),
    };
  }
  return undefined;
}
