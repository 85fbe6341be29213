/// <reference types="node" preserve="true" />
// (The published types speak of sockets and buffers: they bring the types of Node with them.)

/** What users import. */
export {
  createDsbc,
  type Dsbc,
  type DsbcOptions,
  type DsbcState,
  type Middleware,
  type ReloadResult,
} from './main';
export { serveAdmin, type ServeAdminOptions } from './operation/serve-admin';
export type { AdminServer } from './admin/server';
export { loadConfig } from './config/load';
export { checkConfig, parseConfig } from './config/config';
export type { Config, ConfigInput } from './config/types';
export { DsbcError, ERRORS, type ErrorCode } from './errors';
export {
  HOOKS,
  type BeforeLookupContext,
  type BeforeRelayContext,
  type BeforeRouteContext,
  type Hook,
  type HookAnswer,
  type HookContext,
  type HookName,
  type HookOptions,
  type HookPolicy,
  type HookSet,
  type OnErrorContext,
  type OnResponseContext,
} from './hooks';
export type {
  Decision,
  Destination,
  LookupKey,
  Plan,
  RegistryAnswerView,
  Role,
  Step,
} from './routing/decision';
export type { Customer, OperatorDecision, Registry, RegistryEntry, RegistryKey } from './registry/registry';
export type { HeaderLine, TransportAddress } from './link/sip-link';
export type { SipMessage } from './message/sip-message';
