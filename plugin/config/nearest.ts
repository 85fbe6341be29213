/** The name that is most like a mistyped word, for "did you mean"; undefined if none is like it. */
export function nearest(word: string, names: readonly string[]): string | undefined {
  const like = names
    .map((name) => ({ name, far: distance(name, word) }))
    .filter(({ far }) => far <= 2 && far < word.length)
    .sort((a, b) => a.far - b.far);
  return like[0]?.name;
}

/** Levenshtein distance. */
function distance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, index) => index);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++) {
      const change = (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1);
      next.push(Math.min(change, (row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1));
    }
    row = next;
  }
  return row[b.length] ?? 0;
}
