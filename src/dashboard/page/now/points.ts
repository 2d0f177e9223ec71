import type { RatePoints } from '../../now/view.ts';

/** Rates at one time, in bytes per second. */
export interface Point {
  readonly at: number;
  readonly up: number;
  readonly down: number;
  readonly flows: number;
}

/** Points of a chart from those of the topic, oldest first. */
export const pointsOf = (points: RatePoints): readonly Point[] =>
  Object.entries(points)
    .map(([at, [up, down, flows]]) => ({ at: Number(at), up, down, flows }))
    .sort((a, b) => a.at - b.at);
