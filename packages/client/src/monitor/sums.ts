import type { MonitoredFlow, Monitor, TrafficSample } from './contract.ts';
import type { FlowView } from '@weir/server/api/views';

/** The identity of a flow's user; users of different inbounds may have the same label. */
export interface FlowUser {
  readonly inbound: string;
  /** `null` for a user without a label. */
  readonly user: string | null;
}

/** A key for maps, unique per user. */
export const userKey = ({ inbound, user }: FlowUser): string =>
  `${inbound.length}:${inbound}${user === null ? '' : `:${user}`}`;

/** The user of a key from `userKey`. */
export function userOfKey(key: string): FlowUser {
  const start = key.indexOf(':') + 1;
  const end = start + Number.parseInt(key, 10);
  return { inbound: key.slice(start, end), user: end < key.length ? key.slice(end + 1) : null };
}

/** Sums over the flows of one key. */
interface FlowSum {
  readonly key: string;
  /** Bytes in both directions since the sums began, including closed flows. */
  readonly bytes: number;
  /** Bytes per second in both directions. */
  readonly rate: number;
  /** Number of open flows. */
  readonly flows: number;
}

interface MutableSum {
  bytes: number;
  rate: number;
  flows: number;
}

const nothing = (): MutableSum => ({ bytes: 0, rate: 0, flows: 0 });

/** Maximum number of keys: those of 10,000 open flows, and as many again. */
const MAX_KEYS = 20_000;

/** Sums over flows by a key, such as their host. */
export class SumsByKey {
  readonly #keyOf: (flow: MonitoredFlow) => string | undefined;
  readonly #limit: number;
  readonly #sums = new Map<string, MutableSum>();
  readonly #total = nothing();
  /** Sums over flows without a key. */
  readonly #without = nothing();

  /** @param keyOf returns `undefined` for a flow without a key */
  constructor(keyOf: (flow: MonitoredFlow) => string | undefined, limit = MAX_KEYS) {
    this.#keyOf = keyOf;
    this.#limit = limit;
  }

  get size(): number {
    return this.#sums.size;
  }

  get(key: string): FlowSum | undefined {
    const sum = this.#sums.get(key);
    return sum && { key, ...sum };
  }

  /** The sum over all keys, including evicted ones. */
  total(of: 'rate' | 'bytes'): number {
    return this.#total[of];
  }

  /** The sum over flows without a key. */
  without(of: 'rate' | 'bytes'): number {
    return this.#without[of];
  }

  /** Begins an update from all flows. */
  begin(): void {
    for (const sum of [...this.#sums.values(), this.#total, this.#without]) {
      sum.rate = sum.flows = 0;
    }
  }

  add(flow: MonitoredFlow, bytes: number): void {
    const key = this.#keyOf(flow);
    if (key === undefined) return addTo(this.#without, flow, bytes);
    let sum = this.#sums.get(key);
    if (!sum) this.#sums.set(key, (sum = nothing()));
    addTo(sum, flow, bytes);
    addTo(this.#total, flow, bytes);
  }

  /** Ends an update: evicts the keys with the fewest bytes and no open flow. */
  end(): void {
    if (this.#sums.size <= this.#limit) return;
    const idle = [...this.#sums].filter(([, { flows }]) => flows === 0);
    idle.sort(([, a], [, b]) => a.bytes - b.bytes);
    // Evicts a tenth more than needed, so that not each new key causes an eviction.
    const surplus = this.#sums.size - this.#limit + Math.floor(this.#limit / 10);
    for (const [key] of idle.slice(0, surplus)) this.#sums.delete(key);
  }

  /** The keys with the largest sums. Takes linear time. */
  largest(by: 'rate' | 'bytes', count: number): readonly FlowSum[] {
    const found: FlowSum[] = [];
    for (const [key, sum] of this.#sums) {
      if (sum[by] <= (found.length < count ? 0 : (found.at(-1)?.[by] ?? 0))) continue;
      const at = found.findIndex((other) => other[by] < sum[by]);
      found.splice(at < 0 ? found.length : at, 0, { key, ...sum });
      if (found.length > count) found.pop();
    }
    return found;
  }

  /** All sums, in no particular order. */
  *all(): Generator<FlowSum> {
    for (const [key, sum] of this.#sums) yield { key, ...sum };
  }

  clear(): void {
    this.#sums.clear();
    this.#total.bytes = this.#without.bytes = 0;
  }
}

function addTo(
  sum: MutableSum,
  { closedAt, upRate, downRate }: MonitoredFlow,
  bytes: number,
): void {
  sum.bytes += bytes;
  if (closedAt !== undefined) return;
  sum.rate += upRate + downRate;
  sum.flows++;
}

/** How much of Weir's totals the sums over flows account for. */
interface SumsCoverage {
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
   * Compares the sums with Weir's counters.
   *
   * @param listedAt when the list was requested: it should contain everything that earlier samples have counted
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
