import type { Arrival } from '../../../plugin/routing/facts';
import type { Decision } from '../../../plugin/routing/decision';
import type { RoutingSettings } from '../../../plugin/routing/settings';
import { LAB, SOURCES, type SipRequest } from '../../fixtures/routing';

/** What a row of the table expects; only what is named is compared. */
export interface Expected {
  readonly kind: Decision['kind'];
  readonly status?: number;
  readonly system?: string;
  readonly site?: string;
  readonly relay?: string;
  readonly onPath?: boolean;
  readonly failover?: boolean;
  readonly requestUri?: string;
  readonly key?: string;
  /** A header of the answer. */
  readonly header?: readonly [string, string | RegExp];
  readonly nextHop?: string;
  readonly routes?: readonly string[];
  readonly strip?: readonly string[];
}

/**
 * One call flow: words for people, and the request and outcome for the tests. The documentation is made from it, the
 * decision is tested by it, and it is run end to end on each SIP server.
 */
export interface CallFlow {
  readonly who: string;
  readonly toWhom: string;
  readonly registry: string;
  readonly happens: string;
  readonly request: SipRequest;
  readonly arrival?: Partial<Arrival>;
  readonly settings?: Partial<RoutingSettings>;
  /** Sites in maintenance, `system/site`. */
  readonly out?: readonly string[];
  /** Whether customer acme, who moves from source to target, is exported; he has accounts and DIDs of 11xx. */
  readonly exported?: boolean;
  /** The flag flips while the call rings: true for an export, false for a roll-back. */
  readonly exportedMeanwhile?: boolean;
  /** On a server that can do all that relays ask for: the embedded one. */
  readonly expected: Expected;
  /** What is otherwise on drachtio-server; with another kind, nothing of `expected` holds. */
  readonly onDrachtio?: Partial<Expected>;
  /** The status with which that SIP server refuses it by itself, before we see it; 0: it drops it without an answer. */
  readonly byServer?: Readonly<Partial<Record<'embedded' | 'drachtio', number>>>;
}

export interface CallFlowGroup {
  readonly title: string;
  readonly rows: readonly CallFlow[];
}

export const from = (source: keyof typeof SOURCES): Partial<Arrival> => ({ source: SOURCES[source] });

export const toAccount = (uri: string): SipRequest => ({ uri, to: `<${uri}>` });

/** A request of site main along a flow token. */
export const flow = (
  state: 'valid' | 'forged' | 'gone',
  address = '203.0.113.7',
  transport = 'udp',
  behindNat = false,
): Partial<Arrival> => ({
  ...from('sourceMain'),
  flow: { token: 'tok', state, transport, address, port: 40812, behindNat },
});

export const routed = (uri: string): SipRequest => ({ uri, headers: ['Route: <sip:tok@198.51.100.10;lr>'] });

/** A third system, of another provider, that shares the pool of DIDs. */
export const THIRD_SYSTEM: Partial<RoutingSettings> = {
  systems: {
    ...LAB.systems,
    reseller: {
      domain: 'reseller.example.net',
      load_distribution: 'auto',
      affinity: 'account',
      sites: { main: { nodes: [{ uri: 'sip:198.51.100.41:5060' }] } },
    },
  },
};

export const DEFAULT_SYSTEM: Partial<RoutingSettings> = { default_system: 'source' };
