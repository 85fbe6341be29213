/** Counts what each address holds, and forgets an address that holds nothing. */
export class SourceCount {
  readonly #held = new Map<string, number>();
  #total = 0;

  /** Of all addresses together. */
  get total(): number {
    return this.#total;
  }

  of(address: string): number {
    return this.#held.get(address) ?? 0;
  }

  add(address: string, amount = 1): void {
    this.#total += amount;
    this.#held.set(address, this.of(address) + amount);
  }

  remove(address: string, amount = 1): void {
    this.#total -= amount;
    const left = this.of(address) - amount;
    if (left > 0) this.#held.set(address, left);
    else this.#held.delete(address);
  }
}
