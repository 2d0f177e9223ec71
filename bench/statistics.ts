/** The value below which the part `p` (0 to 1) of all lies; 0 of nothing. */
export function percentile(values: readonly number[], p: number): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * p))] ?? 0;
}

export const median = (values: readonly number[]): number => percentile(values, 0.5);
