/**
 * The sign test: how likely pairs fall at least this unevenly when neither side is slower. It looks at
 * which of two is slower and not by how much, so it holds whatever a busy machine adds to either.
 * @returns the two-sided probability, exact.
 */
export function signTest(wins: number, pairs: number): number {
  const rarer = Math.min(wins, pairs - wins);
  let ways = 1;
  let tail = 0;
  for (let count = 0; count <= rarer; count += 1) {
    tail += ways;
    ways = (ways * (pairs - count)) / (count + 1);
  }
  return Math.min(1, (2 * tail) / 2 ** pairs);
}
