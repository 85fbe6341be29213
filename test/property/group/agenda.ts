/** Things to do, earliest first, in the order given where times are equal (a binary heap). */
export class Agenda {
  private readonly heap: { at: number; order: number; action: () => void }[] = [];
  private order = 0;

  add(at: number, action: () => void): void {
    const entry = { at, order: this.order++, action };
    let index = this.heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const above = this.heap[parent]!;
      if (above.at < at || (above.at === at && above.order < entry.order)) break;
      this.heap[index] = above;
      index = parent;
    }
    this.heap[index] = entry;
  }

  next(): { at: number; action: () => void } | undefined {
    const top = this.heap[0];
    const last = this.heap.pop();
    if (top === undefined || last === undefined) return undefined;
    if (this.heap.length === 0) return top;
    let index = 0;
    for (;;) {
      let child = 2 * index + 1;
      if (child >= this.heap.length) break;
      if (child + 1 < this.heap.length && this.isEarlier(this.heap[child + 1]!, this.heap[child]!)) child++;
      if (!this.isEarlier(this.heap[child]!, last)) break;
      this.heap[index] = this.heap[child]!;
      index = child;
    }
    this.heap[index] = last;
    return top;
  }

  private isEarlier(a: { at: number; order: number }, b: { at: number; order: number }): boolean {
    return a.at < b.at || (a.at === b.at && a.order < b.order);
  }
}
