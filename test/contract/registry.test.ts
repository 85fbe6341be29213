import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openLmdbRegistry } from '../../plugin/registry/lmdb';
import { createMemoryRegistry } from '../../plugin/registry/memory';
import type { Registry } from '../../plugin/registry/registry';
import { registryContract } from './registry-suite';

describe('the registry in memory', () => {
  registryContract(() => {
    const registry = createMemoryRegistry();
    return Promise.resolve({ registry, dispose: () => registry.close() });
  });
});

describe('the registry on LMDB', () => {
  registryContract(async () => {
    const dir = await mkdtemp(join(tmpdir(), 'dsbc-registry-'));
    const opened: Registry[] = [];
    const open = async (): Promise<Registry> => {
      const registry = await openLmdbRegistry({ path: join(dir, 'registry.lmdb') });
      opened.push(registry);
      return registry;
    };
    return {
      registry: await open(),
      another: open,
      dispose: async () => {
        await Promise.all(opened.map((registry) => registry.close()));
        await rm(dir, { recursive: true });
      },
    };
  });
});
