/** How many letters must be typed, taken out, changed or swapped with their neighbour to make one word of another. */
function distance(from: string, to: string): number {
  let before: number[] = [];
  let row = Array.from({ length: to.length + 1 }, (_, at) => at);
  for (let i = 1; i <= from.length; i++) {
    const next = [i];
    for (let j = 1; j <= to.length; j++) {
      const same = from[i - 1] === to[j - 1] ? 0 : 1;
      let best = Math.min((row[j] ?? 0) + 1, (next[j - 1] ?? 0) + 1, (row[j - 1] ?? 0) + same);
      if (i > 1 && j > 1 && from[i - 1] === to[j - 2] && from[i - 2] === to[j - 1])
        best = Math.min(best, (before[j - 2] ?? 0) + 1);
      next.push(best);
    }
    before = row;
    row = next;
  }
  return row[to.length] ?? 0;
}

/** The known word that somebody probably meant: few letters away, or the start or the end of exactly one. */
export function nearMiss(word: string, known: readonly string[]): string | undefined {
  const asked = word.toLowerCase();
  if (asked.length > 64) return undefined;
  const [nearest] = known
    .map((name) => ({ name, far: distance(asked, name.toLowerCase()) }))
    .sort((left, right) => left.far - right.far);
  if (nearest !== undefined && nearest.far <= Math.max(1, Math.floor(nearest.name.length / 3))) return nearest.name;
  const parts = known.filter((name) => asked.length >= 3 && name.split(/[_.]/).includes(asked));
  return parts.length === 1 ? parts[0] : undefined;
}
