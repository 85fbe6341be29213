/** Which cached keys belong to a customer, so that moving a customer drops its entries and no others. */
export class CustomerIndex {
  readonly #keys = new Map<string, Set<string>>();

  add(customer: string, key: string): void {
    const keys = this.#keys.get(customer);
    if (keys === undefined) this.#keys.set(customer, new Set([key]));
    else keys.add(key);
  }

  remove(customer: string, key: string): void {
    const keys = this.#keys.get(customer);
    if (keys?.delete(key) === true && keys.size === 0) this.#keys.delete(customer);
  }

  /** A copy: dropping entries changes the index. */
  keysOf(customer: string): readonly string[] {
    return [...(this.#keys.get(customer) ?? [])];
  }
}
