export * from './hook-types';
export { Hooks, type HookDefaults, type HookFailure } from './hooks';
export { PROTECTED_HEADERS } from './protected-headers';
