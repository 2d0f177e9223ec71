import type { RatePoint, TrafficHistory, TrafficSample } from './contract.ts';

/** Points by the second: two minutes. */
const SECONDS = 120;
/** Points by half minutes: an hour. */
const HALF_MINUTES = 120;
const HALF_MINUTE_MS = 30_000;

/** Rates of the last two minutes and of the last hour. */
export class RateHistory implements TrafficHistory {
  #seconds: readonly RatePoint[] = [];
  #halfMinutes: readonly RatePoint[] = [];
  /** Points of the half minute that is not over. */
  #current: RatePoint[] = [];

  get seconds(): readonly RatePoint[] {
    return this.#seconds;
  }

  get halfMinutes(): readonly RatePoint[] {
    return this.#halfMinutes;
  }

  add({ at, upRate: up, downRate: down, flows }: TrafficSample): void {
    const point: RatePoint = { at, up, down, flows };
    this.#seconds = appended(this.#seconds, point, SECONDS);
    const first = this.#current[0];
    if (first && at - first.at >= HALF_MINUTE_MS) {
      this.#halfMinutes = appended(this.#halfMinutes, mean(this.#current), HALF_MINUTES);
      this.#current = [];
    }
    // A sample a second at most, but a clock may be set back.
    if (this.#current.length < SECONDS) this.#current.push(point);
  }
}

const appended = (points: readonly RatePoint[], point: RatePoint, most: number) =>
  [...points, point].slice(-most);

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
