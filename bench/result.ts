/** What one benchmark found: one JSON document, and lines for people. */
export interface BenchResult {
  name: string;
  node: string;
  cpus: number;
  rounds: number;
  results: Record<string, number>;
}
