import type { FlowJson } from '../../client/api-views.ts';
import type { Monitor, TrafficSample } from '../contract.ts';
import { userKey } from './user-key.ts';
import { SumsByKey } from './sums-by-key.ts';

/** How much of the totals the sums of flows have. */
export interface SumsCoverage {
  /** When the sums began; `undefined` before the first list of flows. */
  readonly since: number | undefined;
  /** Bytes that Weir has counted since then. */
  readonly total: number;
  /**
   * Those that were seen with no flow: events were missed, or it was opened before and closed unseen. Never less than
   * it was, and at no time more than is missing.
   */
  readonly unattributed: number;
  /** By how many bytes per second that has grown of late. */
  readonly unattributedRate: number;
  /** Flow events that were missed since then. */
  readonly missed: number;
}

type SummedMonitor = Pick<Monitor, 'flows' | 'traffic' | 'missed' | 'listedAt' | 'status'>;

/** Milliseconds by which the growth of what is unattributed is a rate. */
const WINDOW_MS = 10_000;

interface Comparison {
  readonly at: number;
  readonly unattributed: number;
}

/**
 * Bytes of flows by host, source and user, since this process began to watch. Counters of Weir are only read: each
 * program that sums has a start of its own.
 *
 * Lists of flows and samples of Weir's counters are not of the same moment. So that traffic between the two is not
 * taken for missing, the counters begin with a sample after the first list, and each list is compared with a sample
 * before it.
 */
export class WatchedSums {
  /** By the name that was requested or sniffed, otherwise the address. */
  readonly hosts = new SumsByKey(({ view }) => view.sniffed ?? view.host);
  readonly sources = new SumsByKey(({ view }) => view.source ?? undefined);
  /** By `userKey`. */
  readonly users = new SumsByKey(({ view }) => userKey(view));
  readonly #parts = [this.hosts, this.sources, this.users];
  /** Each flow as it had the most bytes so far. */
  #seen = new Map<number, FlowJson>();
  #listedAt: number | undefined;
  #since: number | undefined;
  /** The last samples, the later one first. */
  #samples: readonly TrafficSample[] = [];
  /** Bytes of Weir's counters when the sums began; `undefined` before that. */
  #start: number | undefined;
  /** When the process began that is watched, if it has said so. */
  #process: number | undefined;
  #sum = 0;
  #missedBefore = 0;
  #missed = 0;
  /** Comparisons of the last time, oldest first. */
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

  /** Looks at all flows if they have been listed again: linear in their number. */
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
    const seen = new Map<number, FlowJson>();
    for (const [id, flow] of flows) {
      const { view } = flow;
      const before = isFirst ? view : this.#seen.get(id);
      const grown = bytesOf(view) - (before ? bytesOf(before) : 0);
      const bytes = Math.max(0, grown);
      this.#sum += bytes;
      for (const part of this.#parts) part.add(flow, bytes);
      // The object of the monitor wherever it will do, so that no other one is kept beside it.
      seen.set(id, before && grown < 0 ? before : view);
    }
    for (const part of this.#parts) part.end();
    this.#seen = seen;
  }

  /** @param listedAt when the list was requested: what a sample before that has counted should be in it */
  #compare(listedAt: number): void {
    const sample = this.#samples.find(({ at }) => at <= listedAt);
    if (!sample || this.#start === undefined) return;
    const missing = bytesOf(sample) - this.#start - this.#sum;
    const before = this.#looks.at(-1)?.unattributed ?? 0;
    while (listedAt - (this.#looks[1]?.at ?? listedAt) >= WINDOW_MS) this.#looks.shift();
    this.#looks.push({ at: listedAt, unattributed: Math.max(before, missing) });
  }

  /** Whether flows have the ids of other ones: ids begin anew with a process. */
  #areOfAnother(flows: Monitor['flows']): boolean {
    for (const [id, before] of this.#seen) {
      const flow = flows.get(id);
      if (flow && isOther(flow.view, before)) return true;
    }
    return false;
  }

  /** Another process serves now: its counters begin at 0. */
  #restart(): void {
    for (const part of this.#parts) part.clear();
    this.#seen.clear();
    this.#looks = [];
    this.#samples = [];
    this.#since = this.#start = undefined;
    this.#sum = 0;
  }
}

/** Start times are no identity: they change with steps of the wall clock. */
const isOther = (a: FlowJson, b: FlowJson): boolean =>
  a.session !== b.session || a.inbound !== b.inbound || a.port !== b.port;

const bytesOf = ({ up, down }: { readonly up: number; readonly down: number }): number => up + down;
