import type { FlowView } from '@weir/server/api/views';
import type { Monitor, TrafficSample } from '../contract.ts';
import { userKey } from './user-key.ts';
import { SumsByKey } from './sums-by-key.ts';

/** How much of Weir's totals the sums over flows account for. */
export interface SumsCoverage {
  /** When the sums began; `undefined` before the first list of flows. */
  readonly since: number | undefined;
  /** Bytes that Weir has counted since then. */
  readonly total: number;
  /**
   * Bytes that belong to no known flow: events were missed, or the flow was opened before and closed unseen. Never
   * decreases, and never exceeds what is missing.
   */
  readonly unattributed: number;
  /** Recent growth of `unattributed`, in bytes per second. */
  readonly unattributedRate: number;
  /** Number of flow events missed since then. */
  readonly missed: number;
}

type SummedMonitor = Pick<Monitor, 'flows' | 'traffic' | 'missed' | 'listedAt' | 'status'>;

/** Milliseconds over which the growth of unattributed bytes is averaged. */
const WINDOW_MS = 10_000;

interface Comparison {
  readonly at: number;
  readonly unattributed: number;
}

/**
 * Bytes of flows by host, source and user, since this process started watching. Weir's counters are only read, never
 * reset: each program that sums has its own start.
 *
 * Lists of flows and samples of Weir's counters are taken at different times. So that traffic in between does not count
 * as missing, the counters begin with a sample after the first list, and each list is compared with a sample before it.
 */
export class WatchedSums {
  /** By the requested or sniffed name, otherwise the address. */
  readonly hosts = new SumsByKey(({ view }) => view.sniffed ?? view.host);
  readonly sources = new SumsByKey(({ view }) => view.source ?? undefined);
  /** Sums by `userKey`. */
  readonly users = new SumsByKey(({ view }) => userKey(view));
  readonly #parts = [this.hosts, this.sources, this.users];
  /** The view of each flow with the most bytes so far. */
  #seen = new Map<number, FlowView>();
  #listedAt: number | undefined;
  #since: number | undefined;
  /** The last two samples, the later one first. */
  #samples: readonly TrafficSample[] = [];
  /** Bytes of Weir's counters when the sums began; `undefined` before that. */
  #start: number | undefined;
  /** Start time of the watched process, if it has reported one. */
  #process: number | undefined;
  #sum = 0;
  #missedBefore = 0;
  #missed = 0;
  /** Recent comparisons, oldest first. */
  #looks: Comparison[] = [];

  get coverage(): SumsCoverage {
    const [first, last] = [this.#looks[0], this.#looks.at(-1)];
    const elapsed = first && last ? last.at - first.at : 0;
    const grown = first && last ? last.unattributed - first.unattributed : 0;
    const [sample] = this.#samples;
    return {
      since: this.#since,
      total: sample && this.#start !== undefined ? bytesOf(sample) - this.#start : 0,
      unattributed: last?.unattributed ?? 0,
      unattributedRate: elapsed === 0 ? 0 : (grown / elapsed) * 1000,
      missed: this.#missed - this.#missedBefore,
    };
  }

  /** Updates the sums if flows have been listed again: linear in their number. */
  update({ flows, traffic, missed, listedAt, status }: SummedMonitor): void {
    if (!traffic || listedAt === undefined) return;
    const startedAt = status?.value.started_at ?? this.#process;
    if (this.#process !== undefined && startedAt !== this.#process) this.#restart();
    this.#process = startedAt;
    this.#takeSample(traffic);
    if (listedAt === this.#listedAt) return;
    this.#listedAt = listedAt;
    if (this.#areOfAnother(flows)) this.#restart();
    if (this.#since === undefined) {
      this.#since = listedAt;
      this.#missedBefore = missed;
      this.#samples = [traffic];
      this.#looks = [{ at: listedAt, unattributed: 0 }];
      this.#look(flows, true);
    } else {
      this.#look(flows, false);
      this.#compare(listedAt);
    }
    this.#missed = missed;
  }

  #takeSample(sample: TrafficSample): void {
    const [last] = this.#samples;
    if (sample === last) return;
    if (last && (sample.tick < last.tick || bytesOf(sample) < bytesOf(last))) this.#restart();
    this.#samples = last ? [sample, last] : [sample];
    if (this.#since !== undefined) this.#start ??= bytesOf(sample);
  }

  #look(flows: Monitor['flows'], isFirst: boolean): void {
    for (const part of this.#parts) part.begin();
    const seen = new Map<number, FlowView>();
    for (const [id, flow] of flows) {
      const { view } = flow;
      const before = isFirst ? view : this.#seen.get(id);
      const grown = bytesOf(view) - (before ? bytesOf(before) : 0);
      const bytes = Math.max(0, grown);
      this.#sum += bytes;
      for (const part of this.#parts) part.add(flow, bytes);
      // Keeps the monitor's object where possible, so that no second one is kept beside it.
      seen.set(id, before && grown < 0 ? before : view);
    }
    for (const part of this.#parts) part.end();
    this.#seen = seen;
  }

  /**
   * Compares the sums with Weir's counters. @param listedAt when the list was requested: it should contain everything
   * that earlier samples have counted
   */
  #compare(listedAt: number): void {
    const sample = this.#samples.find(({ at }) => at <= listedAt);
    if (!sample || this.#start === undefined) return;
    const missing = bytesOf(sample) - this.#start - this.#sum;
    const before = this.#looks.at(-1)?.unattributed ?? 0;
    while (listedAt - (this.#looks[1]?.at ?? listedAt) >= WINDOW_MS) this.#looks.shift();
    this.#looks.push({ at: listedAt, unattributed: Math.max(before, missing) });
  }

  /** Whether the ids of known flows belong to others now: ids start again with each process. */
  #areOfAnother(flows: Monitor['flows']): boolean {
    for (const [id, before] of this.#seen) {
      const flow = flows.get(id);
      if (flow && isOther(flow.view, before)) return true;
    }
    return false;
  }

  /** Restarts the sums for another process, whose counters begin at 0. */
  #restart(): void {
    for (const part of this.#parts) part.clear();
    this.#seen.clear();
    this.#looks = [];
    this.#samples = [];
    this.#since = this.#start = undefined;
    this.#sum = 0;
  }
}

/** Whether two flows with the same id differ. Start times are no identity: they change with steps of the wall clock. */
const isOther = (a: FlowView, b: FlowView): boolean =>
  a.session !== b.session || a.inbound !== b.inbound || a.port !== b.port;

const bytesOf = ({ up, down }: { readonly up: number; readonly down: number }): number => up + down;
