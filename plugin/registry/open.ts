import type { RegistryConfig } from '../config/types';
import { DsbcError } from '../errors';
import type { Logger } from '../telemetry/logger';
import { openLmdbRegistry } from './lmdb';
import { createMemoryRegistry } from './memory';
import type { Registry } from './registry';

/**
 * Opens the registry that the configuration names.
 * @throws DsbcError DSBC_REGISTRY_DAMAGED or DSBC_REGISTRY_UNAVAILABLE
 */
export async function openRegistry(
  config: RegistryConfig,
  options: { readonly log?: Logger } = {},
): Promise<Registry> {
  switch (config.driver) {
    case 'memory':
      return createMemoryRegistry(options);
    case 'lmdb':
      return openLmdbRegistry({ path: config.path, pollMs: config.changes_poll_ms, ...options });
    case 'cassandra':
      throw new DsbcError('DSBC_REGISTRY_UNAVAILABLE', 'the Cassandra driver is not part of this build');
  }
}
