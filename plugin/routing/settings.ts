/**
 * What routing needs of the configuration, under the configuration's own names, so that a validated config fits
 * without being copied.
 */
export const AFFINITIES = ['account', 'call', 'none'] as const;
export type Affinity = (typeof AFFINITIES)[number];

export type NatDialogs = 'on_path' | 'bypass';
/** Whether in-dialog requests pass through us; `auto`: only where NAT or a stream transport needs it. */
export type DialogMode = 'auto' | 'bypass' | 'on_path';

export interface NodeSettings {
  readonly uri: string;
  readonly tcp?: boolean | undefined;
}

export interface SiteSettings {
  readonly nodes: readonly NodeSettings[];
  readonly trusted_nets?: readonly string[] | undefined;
  /** Dialogs with endpoints behind NAT: through us, or past us because the site does far-end NAT itself. */
  readonly nat_dialogs?: NatDialogs | undefined;
}

/** `auto`: equal shares; else a percentage for each site, together 100. */
export type LoadDistribution = 'auto' | Readonly<Record<string, number>>;

export interface SystemSettings {
  readonly domain?: string | undefined;
  readonly load_distribution: LoadDistribution;
  readonly affinity: Affinity;
  readonly sites: Readonly<Record<string, SiteSettings>>;
}

export interface PeerSettings {
  readonly name: string;
  readonly nets: readonly string[];
  readonly trust_identity?: boolean | undefined;
  /** Digits taken off the front of what this peer dials, if they are there. */
  readonly prefix_strip?: string | undefined;
  /** Digits put in front, after the strip. */
  readonly prefix_add?: string | undefined;
  readonly force_route_through_dsbc?: boolean | undefined;
}

export interface OutboundRule {
  /** A host name, `*.domain` for all below it, or an address. */
  readonly host: string;
  readonly force_route_through_dsbc?: boolean | undefined;
  /** Requests per second to this destination; more get 503. */
  readonly max_requests_per_s?: number | undefined;
}

export interface RoutingSettings {
  readonly domains: readonly string[];
  readonly sip_servers: readonly {
    readonly name: string;
    readonly entry: {
      readonly address: string;
      readonly port: number;
      readonly tls_port?: number | undefined;
      readonly ws_port?: number | undefined;
      readonly wss_port?: number | undefined;
    };
  }[];
  readonly default_system?: string | undefined;
  readonly systems: Readonly<Record<string, SystemSettings>>;
  readonly peers?: readonly PeerSettings[] | undefined;
  readonly outbound?: { readonly allow: readonly OutboundRule[] } | undefined;
  readonly inter_system?: 'redirect' | 'relay' | undefined;
  readonly dialogs?: { readonly endpoint: DialogMode; readonly peer: DialogMode } | undefined;
  readonly registry?: { readonly on_error?: 'default_system' | 'reject' | undefined } | undefined;
}
