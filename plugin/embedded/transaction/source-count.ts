/** Counts what each address holds, and forgets an address that holds nothing. */
export class SourceCount {
  readonly #held = new Map<string, number>();

  of(address: string): number {
    return this.#held.get(address) ?? 0;
  }

  add(address: string): void {
    this.#held.set(address, this.of(address) + 1);
  }

  remove(address: string): void {
    const left = this.of(address) - 1;
    if (left > 0) this.#held.set(address, left);
    else this.#held.delete(address);
  }
}
