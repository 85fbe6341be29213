export * from './hook-types';
export { Hooks, type HookDefaults, type HookFailure } from './hooks';
