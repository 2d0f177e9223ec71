import type { FlowView, SessionView } from '@weir/server/api/views';
import type { MonitoredFlow } from './contract.ts';
import { CLOSED_MS, MOST_CLOSED } from './limits.ts';

/** The flows of a running Weir: lists have the open ones, events the changes since. */
export class MonitoredFlows {
  flows = new Map<number, MonitoredFlow>();
  sessions = new Map<number, SessionView>();
  /** Ids of closed flows, in the order of their ends. */
  readonly #closed = new Set<number>();
  /** The largest id; infinite once a flow has arrived out of order. */
  #last = -Infinity;
  /** When the last list was requested. */
  listedAt: number | undefined;

  get openCount(): number {
    return this.flows.size - this.#closed.size;
  }

  opened(view: FlowView): void {
    const known = this.flows.get(view.id);
    if (known && isSameFlow(known.view, view)) return; // a list had the flow before its event arrived
    this.#closed.delete(view.id);
    this.#set({ view, upRate: 0, downRate: 0, closedAt: undefined });
  }

  /** @param at the time of the end */
  closed(view: FlowView, at: number): void {
    const known = this.flows.get(view.id);
    if (known?.closedAt !== undefined && isSameFlow(known.view, view)) return;
    this.#closed.delete(view.id);
    this.#set({ view, upRate: 0, downRate: 0, closedAt: at });
    this.#closed.add(view.id);
    this.expire(at);
  }

  /**
   * Replaces the open flows with a list of all.
   * @param requestedAt when the list was requested: changes since are newer than it
   */
  list(
    {
      flows,
      sessions,
    }: { readonly flows: readonly FlowView[]; readonly sessions: readonly SessionView[] },
    requestedAt: number,
    openedSince: ReadonlySet<number>,
  ): void {
    const elapsed = this.listedAt === undefined ? 0 : requestedAt - this.listedAt;
    const listed = new Set<number>();
    for (const view of flows) {
      listed.add(view.id);
      this.#listFlow(view, requestedAt, elapsed);
    }
    for (const [id, flow] of this.flows) {
      if (flow.closedAt !== undefined || listed.has(id) || openedSince.has(id)) continue;
      // The event of its end was missed.
      this.flows.set(id, { ...flow, upRate: 0, downRate: 0, closedAt: requestedAt });
      this.#closed.add(id);
    }
    if (this.#last === Infinity) this.#sort();
    this.sessions = new Map(sessions.map((session) => [session.id, session]));
    this.listedAt = requestedAt;
    this.expire(requestedAt);
  }

  /** Forgets flows that closed long ago. */
  expire(now: number): void {
    for (const id of this.#closed) {
      const closedAt = this.flows.get(id)?.closedAt ?? -Infinity;
      if (now - closedAt < CLOSED_MS && this.#closed.size <= MOST_CLOSED) break;
      this.#closed.delete(id);
      this.flows.delete(id);
    }
  }

  #listFlow(view: FlowView, requestedAt: number, elapsed: number): void {
    const found = this.flows.get(view.id);
    const known = found && isSameFlow(found.view, view) ? found : undefined;
    if (known?.closedAt !== undefined && known.closedAt >= requestedAt) return;
    if (found?.closedAt !== undefined) this.#closed.delete(view.id);
    const before = known && known.closedAt === undefined ? known.view : view;
    const rate = (bytes: number): number =>
      elapsed > 0 ? Math.max(0, Math.round((bytes * 1000) / elapsed)) : 0;
    const upRate = rate(view.up - before.up);
    const downRate = rate(view.down - before.down);
    const isSame =
      known?.closedAt === undefined &&
      known?.upRate === upRate &&
      known.downRate === downRate &&
      known.view.up === view.up &&
      known.view.down === view.down &&
      known.view.user === view.user &&
      known.view.sniffed === view.sniffed &&
      known.view.host === view.host;
    if (!isSame) this.#set({ view, upRate, downRate, closedAt: undefined });
  }

  #set(flow: MonitoredFlow): void {
    const { id } = flow.view;
    if (!this.flows.has(id)) this.#last = id > this.#last ? id : Infinity;
    this.flows.set(id, flow);
  }

  #sort(): void {
    const entries = [...this.flows].sort(([a], [b]) => a - b);
    this.flows = new Map(entries);
    this.#last = entries.at(-1)?.[0] ?? -Infinity;
  }
}

/**
 * Whether two flows with the same id are one: another process starts again with the same ids, but not at the same time.
 */
const isSameFlow = (a: FlowView, b: FlowView): boolean => a.started_at === b.started_at;
