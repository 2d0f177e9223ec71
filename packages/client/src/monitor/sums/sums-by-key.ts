import type { MonitoredFlow } from '../contract.ts';

/** Sums over the flows of one key. */
export interface FlowSum {
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
