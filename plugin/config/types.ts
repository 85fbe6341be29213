import type { z } from 'zod';
import type { configSchema, configStructure } from './schema';

/** Read-only all the way down, as the frozen value is. */
export type DeepReadonly<T> = T extends readonly (infer Item)[]
  ? readonly DeepReadonly<Item>[]
  : T extends object
    ? { readonly [Key in keyof T]: DeepReadonly<T[Key]> }
    : T;

/** What a YAML file may say: defaults left out. */
export type ConfigInput = z.input<typeof configSchema>;

/** The whole configuration: validated, defaults filled in, deeply frozen. Same names as in YAML. */
export type Config = DeepReadonly<z.output<typeof configStructure>>;

export type SipServerConfig = Config['sip_servers'][number];
export type EmbeddedServerConfig = Extract<SipServerConfig, { server: 'embedded' }>;
export type DrachtioServerConfig = Extract<SipServerConfig, { server: 'drachtio' }>;
export type EntryConfig = SipServerConfig['entry'];
export type ControlConfig = DrachtioServerConfig['control'];

export type SystemConfig = Config['systems'][string];
export type SiteConfig = SystemConfig['sites'][string];
export type NodeConfig = SiteConfig['nodes'][number];
export type LoadDistribution = SystemConfig['load_distribution'];
export type Affinity = SystemConfig['affinity'];

export type PeerConfig = Config['peers'][number];
export type OutboundConfig = Config['outbound'];
export type OutboundRule = OutboundConfig['allow'][number];
export type DialogsConfig = Config['dialogs'];

export type RegistryConfig = Config['registry'];
export type LmdbConfig = Extract<RegistryConfig, { driver: 'lmdb' }>;
export type CassandraConfig = Extract<RegistryConfig, { driver: 'cassandra' }>;
export type CacheConfig = Config['cache'];

export type HealthConfig = Config['health'];
export type EjectionConfig = HealthConfig['ejection'];
export type FailoverConfig = Config['failover'];
export type LimitsConfig = Config['limits'];
export type SourceLimitsConfig = LimitsConfig['per_source'];

export type NatConfig = Config['nat'];
export type NatKeyConfig = NatConfig['keys'][number];
export type KeepaliveConfig = NatConfig['keepalive'];

export type HaConfig = NonNullable<Config['ha']>;
export type HaPeerConfig = HaConfig['peers'][number];
export type HaLinksConfig = HaConfig['listen'];
export type VipConfig = HaConfig['vips'][number];
export type WitnessConfig = NonNullable<HaConfig['witness']>;

export type AdminConfig = Config['admin'];
export type LogConfig = Config['log'];
export type SyslogConfig = NonNullable<LogConfig['syslog']>;
export type HooksConfig = Config['hooks'];
