import type { MonitoredFlow } from '@weir/client/monitor';
import type { Arranged, Entry } from './arrangement.ts';

/** Rows that keep their positions while their flows change or close. */
export class FrozenOrder {
  readonly entries: readonly Entry[];
  /** The last known state of each flow that matched, for when the monitor has forgotten it. */
  readonly #last: Map<number, MonitoredFlow>;
  #counted: { readonly of: Arranged; readonly fresh: number } | undefined;

  constructor({ entries, flows }: Arranged) {
    this.entries = entries;
    this.#last = new Map(flows.map((flow) => [flow.view.id, flow]));
  }

  /** The number of flows of `now` that did not match when the order was frozen. Counted once for each arrangement. */
  freshIn(now: Arranged): number {
    if (this.#counted?.of === now) return this.#counted.fresh;
    let fresh = 0;
    for (const { view } of now.flows) if (!this.#last.has(view.id)) fresh++;
    this.#counted = { of: now, fresh };
    return fresh;
  }

  /** The current state of a flow, or its last known one. */
  flow(
    id: number,
    flows: ReadonlyMap<number, MonitoredFlow>,
    now: number,
  ): MonitoredFlow | undefined {
    const current = flows.get(id);
    const known = current ?? this.#last.get(id);
    if (!known) return undefined;
    // The flow was closed and forgotten between two reads of it here.
    const flow = current || known.closedAt !== undefined ? known : { ...known, closedAt: now };
    this.#last.set(id, flow);
    return flow;
  }
}
