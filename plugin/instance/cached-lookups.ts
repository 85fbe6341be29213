import type { Config } from '../config/types';
import { createLookupCache, type CacheOptions, type LookupCache } from '../registry/cache';
import type { Registry, RegistryLookup } from '../registry/registry';
import type { MonotonicClock } from '../telemetry/clock';
import type { MetricsRegistry } from '../telemetry/metrics';

export interface CachedLookupsParts {
  readonly config: Config;
  readonly metrics: MetricsRegistry;
  readonly now: MonotonicClock;
}

/** The cache of the configuration in front of a registry, each question to the registry timed. */
export const cachedLookups = (registry: Registry, parts: CachedLookupsParts): LookupCache =>
  createLookupCache({
    load: timed(registry, parts),
    clock: parts.now,
    options: cacheOptions(parts.config),
  });

/** The registry behind the cache, each question timed. */
const timed = (registry: Registry, { metrics, now }: CachedLookupsParts): RegistryLookup => ({
  lookup: async (key) => {
    const start = now();
    try {
      return await registry.lookup(key);
    } finally {
      metrics.observe('dsbc_registry_lookup_seconds', {}, (now() - start) / 1000);
    }
  },
});

const cacheOptions = ({ cache, registry }: Config): CacheOptions => ({
  maxEntries: cache.max_entries,
  ttlMs: cache.ttl_s * 1000,
  negativeTtlMs: cache.negative_ttl_s * 1000,
  staleWhileRevalidateMs: cache.stale_while_revalidate_s * 1000,
  staleIfErrorMs: cache.stale_if_error_s * 1000,
  retryAfterErrorMs: cache.retry_after_error_ms,
  // A replica may be read that has not heard of the change yet.
  settleMs: registry.driver === 'cassandra' ? 2000 : 0,
});
