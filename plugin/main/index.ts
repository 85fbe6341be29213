export { createDsbc, type Dsbc } from './dsbc';
export type { DsbcOptions, DsbcState, Middleware } from './dsbc-options';
export type { ReloadResult } from '../instance/reload';
