import type { MonitoredFlow } from '../../monitor/contract.ts';
import type { Arranged, Entry } from './arrangement.ts';

/** Rows that keep their places, whatever happens to their flows. */
export class FrozenOrder {
  readonly entries: readonly Entry[];
  /** The last state of each flow that matched, for when it has been forgotten. */
  readonly #last: Map<number, MonitoredFlow>;
  #counted: { readonly of: Arranged; readonly fresh: number } | undefined;

  constructor({ entries, flows }: Arranged) {
    this.entries = entries;
    this.#last = new Map(flows.map((flow) => [flow.view.id, flow]));
  }

  /** The number of flows of `now` that did not match then. Counted once for each arrangement. */
  freshIn(now: Arranged): number {
    if (this.#counted?.of === now) return this.#counted.fresh;
    let fresh = 0;
    for (const { view } of now.flows) if (!this.#last.has(view.id)) fresh++;
    this.#counted = { of: now, fresh };
    return fresh;
  }

  /** The state of a flow now, or its last one. */
  flow(
    id: number,
    flows: ReadonlyMap<number, MonitoredFlow>,
    now: number,
  ): MonitoredFlow | undefined {
    const current = flows.get(id);
    const known = current ?? this.#last.get(id);
    if (!known) return undefined;
    // It was closed and then forgotten, unnoticed here.
    const flow = current || known.closedAt !== undefined ? known : { ...known, closedAt: now };
    this.#last.set(id, flow);
    return flow;
  }
}
