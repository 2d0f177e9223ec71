import type { MonitoredFlow } from '../contract.ts';

/** What flows of one key have in common. */
export interface FlowSum {
  readonly key: string;
  /** Bytes of both directions since the sums began, of closed flows too. */
  readonly bytes: number;
  /** Bytes per second of both directions. */
  readonly rate: number;
  /** Flows that are open. */
  readonly flows: number;
}

interface MutableSum {
  bytes: number;
  rate: number;
  flows: number;
}

const nothing = (): MutableSum => ({ bytes: 0, rate: 0, flows: 0 });

/** Keys that are remembered: those of 10,000 open flows, and as many again. */
const MAX_KEYS = 20_000;

/** Sums of flows by a key, such as their host. */
export class SumsByKey {
  readonly #keyOf: (flow: MonitoredFlow) => string | undefined;
  readonly #limit: number;
  readonly #sums = new Map<string, MutableSum>();
  readonly #total = nothing();
  /** The sums of flows without a key. */
  readonly #without = nothing();

  /** @param keyOf `undefined` for a flow that has none */
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

  /** The sums of all keys, forgotten ones too. */
  total(of: 'rate' | 'bytes'): number {
    return this.#total[of];
  }

  /** The sums of flows that have no key. */
  without(of: 'rate' | 'bytes'): number {
    return this.#without[of];
  }

  /** Begins a look at all flows. */
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

  /** Ends it: forgets those with the fewest bytes that have no open flow. */
  end(): void {
    if (this.#sums.size <= this.#limit) return;
    const idle = [...this.#sums].filter(([, { flows }]) => flows === 0);
    idle.sort(([, a], [, b]) => a.bytes - b.bytes);
    // A tenth more than needed, so that this is not done for each new key.
    const surplus = this.#sums.size - this.#limit + Math.floor(this.#limit / 10);
    for (const [key] of idle.slice(0, surplus)) this.#sums.delete(key);
  }

  /** The largest. Takes linear time. */
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

  /** All of them, in no order. */
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
