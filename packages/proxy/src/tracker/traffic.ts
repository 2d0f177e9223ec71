import type { Clock, Timer } from '@weir/io/time';
import type { Flow } from './flow.ts';

/** Traffic of one inbound, one outbound or the process: bytes, bytes per second, live flows. */
export interface TrafficFigures {
  readonly up: number;
  readonly down: number;
  readonly upRate: number;
  readonly downRate: number;
  readonly flows: number;
}

/** One sample: totals since the start, rates since the previous sample. */
export interface TrafficSnapshot extends TrafficFigures {
  readonly tick: number;
  readonly intervalMs: number;
  /** Every tag that has carried a flow since the start, sorted. */
  readonly inbounds: ReadonlyMap<string, TrafficFigures>;
  readonly outbounds: ReadonlyMap<string, TrafficFigures>;
}

const SAMPLE_INTERVAL_MS = 1000;

/** Bytes of the closed flows of one tag, and its totals in the last sample. */
interface TagTotals {
  closedUp: number;
  closedDown: number;
  lastUp: number;
  lastDown: number;
}

const EMPTY: TrafficFigures = { up: 0, down: 0, upRate: 0, downRate: 0, flows: 0 };

/** Counts by tag. A flow counts as live between `opened` and `closed`, and by its final bytes afterwards. */
export class TrafficTotals {
  readonly #inbounds = new Map<string, TagTotals>();
  readonly #outbounds = new Map<string, TagTotals>();

  opened(flow: Flow): void {
    totalsOf(this.#inbounds, flow.info.inbound);
    totalsOf(this.#outbounds, flow.info.outbound);
  }

  closed(flow: Flow): void {
    for (const totals of [
      totalsOf(this.#inbounds, flow.info.inbound),
      totalsOf(this.#outbounds, flow.info.outbound),
    ]) {
      totals.closedUp += flow.up;
      totals.closedDown += flow.down;
    }
  }

  /** Takes the sample of a tick. @param live the flows that are open */
  sample(live: Iterable<Flow>, tick: number, intervalMs: number): TrafficSnapshot {
    const flows = [...live];
    const inbounds = figuresByTag(this.#inbounds, flows, (flow) => flow.info.inbound, intervalMs);
    const outbounds = figuresByTag(
      this.#outbounds,
      flows,
      (flow) => flow.info.outbound,
      intervalMs,
    );
    let total = EMPTY;
    for (const figures of inbounds.values()) total = sum(total, figures);
    return { tick, intervalMs, ...total, inbounds, outbounds };
  }
}

function totalsOf(map: Map<string, TagTotals>, tag: string): TagTotals {
  let totals = map.get(tag);
  if (!totals) {
    totals = { closedUp: 0, closedDown: 0, lastUp: 0, lastDown: 0 };
    map.set(tag, totals);
  }
  return totals;
}

function figuresByTag(
  map: Map<string, TagTotals>,
  live: readonly Flow[],
  tagOf: (flow: Flow) => string,
  intervalMs: number,
): Map<string, TrafficFigures> {
  const now = new Map<string, { up: number; down: number; flows: number }>();
  for (const [tag, { closedUp, closedDown }] of map) {
    now.set(tag, { up: closedUp, down: closedDown, flows: 0 });
  }
  for (const flow of live) {
    const entry = now.get(tagOf(flow));
    if (!entry) continue; // `opened` has added one for every live flow
    entry.up += flow.up;
    entry.down += flow.down;
    entry.flows++;
  }
  const figures = new Map<string, TrafficFigures>();
  for (const tag of [...map.keys()].sort()) {
    const totals = totalsOf(map, tag);
    const { up = 0, down = 0, flows = 0 } = now.get(tag) ?? {};
    figures.set(tag, {
      up,
      down,
      upRate: perSecond(up - totals.lastUp, intervalMs),
      downRate: perSecond(down - totals.lastDown, intervalMs),
      flows,
    });
    totals.lastUp = up;
    totals.lastDown = down;
  }
  return figures;
}

const perSecond = (bytes: number, intervalMs: number): number =>
  intervalMs > 0 ? Math.floor((bytes * 1000) / intervalMs) : 0;

const sum = (a: TrafficFigures, b: TrafficFigures): TrafficFigures => ({
  up: a.up + b.up,
  down: a.down + b.down,
  upRate: a.upRate + b.upRate,
  downRate: a.downRate + b.downRate,
  flows: a.flows + b.flows,
});

/**
 * Takes a sample every second and keeps the latest. A reader that is slower than the tick skips samples;
 * there is no backlog.
 */
export class TrafficSampler {
  readonly #clock: Clock;
  readonly #take: (tick: number, intervalMs: number) => TrafficSnapshot;
  readonly #waiters = new Set<() => void>();
  #timer: Timer | undefined;
  #latest: TrafficSnapshot | undefined;
  #lastAt = 0;
  #dueAt = 0;
  #tick = 0;
  #stopped = false;

  constructor(clock: Clock, take: (tick: number, intervalMs: number) => TrafficSnapshot) {
    this.#clock = clock;
    this.#take = take;
  }

  get latest(): TrafficSnapshot | undefined {
    return this.#latest;
  }

  start(): void {
    this.#lastAt = this.#clock.now();
    this.#dueAt = this.#lastAt;
    this.#latest = this.#take(0, 0);
    this.#schedule();
  }

  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
    this.#wakeAll();
  }

  /** Waits for a sample other than `seen`; `undefined` after `stop` or an abort. */
  async newerThan(
    seen: TrafficSnapshot | undefined,
    signal?: AbortSignal,
  ): Promise<TrafficSnapshot | undefined> {
    while (!this.#stopped && signal?.aborted !== true) {
      if (this.#latest && this.#latest !== seen) return this.#latest;
      await new Promise<void>((resolve) => {
        const done = (): void => {
          this.#waiters.delete(done);
          signal?.removeEventListener('abort', done);
          resolve();
        };
        this.#waiters.add(done);
        signal?.addEventListener('abort', done, { once: true });
      });
    }
    return undefined;
  }

  /** Ticks are due at whole seconds after the start, so that a late one does not delay the others. */
  #schedule(): void {
    const scheduledAt = this.#clock.now();
    this.#dueAt = Math.max(this.#dueAt + SAMPLE_INTERVAL_MS, scheduledAt);
    this.#timer = this.#clock.after(this.#dueAt - scheduledAt, () => {
      const now = this.#clock.now();
      this.#schedule();
      this.#tick++;
      this.#latest = this.#take(this.#tick, Math.round(now - this.#lastAt));
      this.#lastAt = now;
      this.#wakeAll();
    });
  }

  #wakeAll(): void {
    for (const wake of this.#waiters) wake();
  }
}
