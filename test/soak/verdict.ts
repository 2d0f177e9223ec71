import type { Sample } from './sample.ts';

/** A sample, and how many connections the measured rounds had had by then. */
export interface Point {
  readonly connections: number;
  readonly sample: Sample;
}

/** What a quantity may grow by over the whole run: a constant, and so much for each connection. */
interface Tolerance {
  readonly constant: number;
  readonly each: number;
}

const MB = 1 << 20;
/** Caches with a bound fill up: names, salts of Shadowsocks. A leaked connection takes kilobytes. */
const TOLERANCES: Readonly<Record<keyof Sample, Tolerance>> = {
  heap: { constant: 2 * MB, each: 64 },
  external: { constant: 2 * MB, each: 16 },
  arrayBuffers: { constant: 2 * MB, each: 16 },
  allocated: { constant: 4 * MB, each: 32 },
  resident: { constant: 48 * MB, each: 128 },
  descriptors: { constant: 16, each: 0 },
  threads: { constant: 2, each: 0 },
  timers: { constant: 24, each: 0 },
  resources: { constant: 16, each: 0 },
  sockets: { constant: 16, each: 0 },
  promises: { constant: 300, each: 0.02 },
  signals: { constant: 100, each: 0 },
  sessions: { constant: 2, each: 0 },
  flows: { constant: 0, each: 0 },
};

/** How a quantity went: growth is that of the line through all points. */
export interface Trend {
  readonly quantity: keyof Sample;
  readonly first: number;
  readonly last: number;
  readonly growth: number;
  readonly limit: number;
}

export const QUANTITIES = Object.keys(TOLERANCES) as readonly (keyof Sample)[];

export const grows = ({ growth, limit }: Trend): boolean => growth > limit;

export function trends(points: readonly Point[]): readonly Trend[] {
  const connections = points.at(-1)?.connections ?? 0;
  return QUANTITIES.map((quantity) => {
    const values = points.map(({ sample }) => sample[quantity]);
    const { constant, each } = TOLERANCES[quantity];
    return {
      quantity,
      first: values[0] ?? 0,
      last: values.at(-1) ?? 0,
      growth:
        slope(
          points.map((point) => point.connections),
          values,
        ) * connections,
      limit: constant + each * connections,
    };
  });
}

/** Of the least-squares line. */
export function slope(x: readonly number[], y: readonly number[]): number {
  const mean = (numbers: readonly number[]): number =>
    numbers.reduce((sum, each) => sum + each, 0) / numbers.length;
  const [meanX, meanY] = [mean(x), mean(y)];
  let products = 0;
  let squares = 0;
  for (const [i, each] of x.entries()) {
    products += (each - meanX) * ((y[i] ?? 0) - meanY);
    squares += (each - meanX) ** 2;
  }
  return squares === 0 ? 0 : products / squares;
}
