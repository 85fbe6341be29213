import type { Config } from '../config/types';
import type { Row } from '../registry/transfer/row';

/** A system or site that rows name and the configuration does not have. */
export interface UnknownName {
  /** `system NAME`, or `site SYSTEM/NAME`. */
  readonly name: string;
  rows: number;
  readonly firstLine: number;
}

/** More different ones than this are not told one by one: then it is the wrong file, or the wrong configuration. */
const MOST = 100;

/**
 * Notes the systems and sites that an import names and this configuration does not have. They are imported all the
 * same (the registry may be filled before the configuration follows, and other groups may share it), and told.
 */
export class UnknownNames {
  readonly #systems: Config['systems'];
  readonly #found = new Map<string, UnknownName>();

  constructor(systems: Config['systems']) {
    this.#systems = systems;
  }

  /** In the order of their first lines; bounded. */
  get list(): readonly UnknownName[] {
    return [...this.#found.values()];
  }

  see(line: number, row: Row): void {
    if (row.type === 'customer') {
      this.#system(line, row.customer.source);
      this.#system(line, row.customer.target);
      return;
    }
    const { system, site } = row.entry;
    const known = this.#system(line, system);
    if (known && site !== undefined && this.#systems[system]?.sites[site] === undefined)
      this.#note(line, `site ${system}/${site}`);
  }

  #system(line: number, system: string): boolean {
    if (this.#systems[system] !== undefined) return true;
    this.#note(line, `system ${system}`);
    return false;
  }

  #note(line: number, name: string): void {
    const before = this.#found.get(name);
    if (before !== undefined) before.rows += 1;
    else if (this.#found.size < MOST) this.#found.set(name, { name, rows: 1, firstLine: line });
  }
}
