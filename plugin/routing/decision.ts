import type { SipMessage } from '../message/sip-message';

/** Who is asking, by the packet's source address. */
export const ROLES = ['endpoint', 'peer', 'site'] as const;
export type Role = (typeof ROLES)[number];

export interface LookupKey {
  readonly kind: 'account' | 'did';
  readonly value: string;
}

/** The part of a registry's answer a decision needs. */
export interface RegistryAnswerView {
  readonly system: string;
  readonly account?: string;
  readonly site?: string;
  readonly customer?: string;
  readonly blocked?: boolean;
}

/** One destination of a plan. */
export interface Destination {
  readonly system: string;
  readonly site: string;
  readonly node: string;
  /** A SIP URI without user, with port and transport. */
  readonly uri: string;
}

/** The ordered list of destinations for one request: the chosen node first, then the failover order. */
export type Plan = readonly Destination[];

export type RelayKind = 'forward' | 'proxy' | 'b2bua';

/** One step of the way to a decision, in words an operator uses; `dsbc explain` prints them. */
export interface Step {
  readonly step: string;
  readonly because: string;
}

/** What is to happen to a request. */
export type Decision =
  | {
      readonly kind: 'answer';
      readonly status: number;
      readonly reason?: string;
      readonly headers?: readonly (readonly [string, string])[];
      readonly steps: readonly Step[];
    }
  | { readonly kind: 'drop'; readonly steps: readonly Step[] }
  /** To a system's site. */
  | {
      readonly kind: 'dispatch';
      readonly relay: RelayKind;
      readonly onPath: boolean;
      readonly requestUri: string;
      readonly key?: LookupKey;
      readonly plan: Plan;
      readonly steps: readonly Step[];
    }
  /** Out to a vendor, an external SIP URI or a static PBX. */
  | {
      readonly kind: 'outbound';
      readonly relay: RelayKind;
      readonly onPath: boolean;
      readonly requestUri: string;
      readonly nextHop: string;
      readonly steps: readonly Step[];
    }
  /** To the endpoint a flow token names. */
  | {
      readonly kind: 'to_flow';
      readonly relay: RelayKind;
      readonly requestUri: string;
      readonly flow: string;
      readonly steps: readonly Step[];
    };

/** The facts of one request that a decision is made from, all values. */
export interface RequestFacts {
  readonly message: SipMessage;
  readonly source: { readonly transport: string; readonly address: string; readonly port: number };
  readonly receivedOn: { readonly address: string; readonly port: number };
}
