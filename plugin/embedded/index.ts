export {
  startEmbeddedServer,
  type EmbeddedCounts,
  type EmbeddedOptions,
  type EmbeddedServer,
  type TokenFlow,
} from './server';
export type { Clock, Timer } from './clock';
export { DEFAULT_LIMITS, type Limits } from './limits';
export type { MalformedMessage } from './core/request-sorter';
export type { Log } from './log';
export type { Resolver } from './proxy/next-hop';
export type { EntryAddress, TransportName } from './transport/flow';
export type { UdpErrorQueue, UdpErrorReport } from './transport/udp-errors';
