import { open } from 'lmdb';
import type { RootDatabase } from 'lmdb';
import { isStorableKey } from '../entry';

/** Keys read from a file, kept on disk: a replacing import of millions of rows must not hold them in memory. */
export class SeenKeys {
  readonly #db: RootDatabase<number, string>;

  /** @param path a file of its own, which a resumed import opens again */
  constructor(path: string) {
    this.#db = open<number, string>({
      path,
      noSubdir: true,
      noSync: true,
      encoding: 'json',
      eventTurnBatching: false,
    });
  }

  async add(keys: readonly string[]): Promise<void> {
    await this.#db.transaction(() => {
      for (const key of keys) this.#db.putSync(key, 1);
    });
  }

  has(key: string): boolean {
    return isStorableKey({ kind: 'account', value: key }) && this.#db.doesExist(key);
  }

  async close(): Promise<void> {
    await this.#db.close();
  }
}
