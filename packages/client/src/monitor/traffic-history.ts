import type { RatePoint, TrafficHistory, TrafficSample } from './contract.ts';

/** The span of the points per second: two minutes. */
const SECONDS_SPAN_MS = 120_000;
/** The span of the points per half minute: an hour. */
const HALF_MINUTES_SPAN_MS = 3_600_000;
const HALF_MINUTE_MS = 30_000;
/** Maximum number of points in each series, even if a clock has been set back. */
const MAX_POINTS = 120;

/** Rates of the last two minutes and of the last hour, as far as they were measured. */
export class RateHistory implements TrafficHistory {
  seconds: readonly RatePoint[] = [];
  halfMinutes: readonly RatePoint[] = [];
  /** Points of the current half minute. */
  #current: RatePoint[] = [];

  add({ at, upRate: up, downRate: down, flows }: TrafficSample): void {
    const point: RatePoint = { at, up, down, flows };
    this.seconds = appended(this.seconds, point, SECONDS_SPAN_MS);
    const first = this.#current[0];
    if (first && at - first.at >= HALF_MINUTE_MS) {
      this.halfMinutes = appended(this.halfMinutes, mean(this.#current), HALF_MINUTES_SPAN_MS);
      this.#current = [];
    }
    // At most one sample per second, unless a clock was set back.
    if (this.#current.length < MAX_POINTS) this.#current.push(point);
  }
}

/** The points with another one appended, without those that are then older than `span` milliseconds. */
const appended = (points: readonly RatePoint[], point: RatePoint, span: number) =>
  [...points.filter(({ at }) => at > point.at - span), point].slice(-MAX_POINTS);

/** The mean rates of a half minute, at its end. */
function mean(points: readonly RatePoint[]): RatePoint {
  const of = (value: (point: RatePoint) => number): number =>
    Math.round(points.reduce((sum, point) => sum + value(point), 0) / points.length);
  return {
    at: points.at(-1)?.at ?? 0,
    up: of(({ up }) => up),
    down: of(({ down }) => down),
    flows: of(({ flows }) => flows),
  };
}
