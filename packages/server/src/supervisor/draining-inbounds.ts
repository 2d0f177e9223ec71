import type { InboundRuntime } from '@weir/proxy/engine';
import type { InboundListener } from './inbound-listener.ts';
import type { FreedListener } from './listener-exchange.ts';
import { SessionInbound } from './session-inbound.ts';

/** Live sessions, which `Supervisor.stop` ends. */
export interface LiveSide {
  /** Resolves when no session is left. */
  whenIdle(): Promise<void>;
  destroy(cause: Error): void;
}

/**
 * The draining inbounds, which were removed, moved or changed to another kind: sessions with connections of their own,
 * and listeners that stay open for the sessions that they own.
 */
export class DrainingInbounds {
  readonly #runtimes = new Set<InboundRuntime>();
  /** Tags of the former inbounds, by listener. */
  readonly #listeners = new Map<SessionInbound, string>();

  get sides(): LiveSide[] {
    return [...this.#runtimes, ...this.#listeners.keys()];
  }

  /** Number of live sessions. */
  get sessions(): number {
    let sessions = 0;
    for (const runtime of this.#runtimes) sessions += runtime.sessions;
    for (const listener of this.#listeners.keys()) sessions += listener.tied;
    return sessions;
  }

  /** Listeners that are open until their last session ends. */
  get listeners(): SessionInbound[] {
    return [...this.#listeners.keys()];
  }

  /** The open listeners, in the form of a `ListenerExchange`. */
  get freed(): FreedListener[] {
    return Array.from(this.#listeners, ([listener, tag]) => ({ tag, listener, draining: true }));
  }

  /** Keeps a runtime until its last session has ended. */
  awaitSessions(runtime: InboundRuntime): void {
    if (runtime.sessions === 0) return;
    this.#runtimes.add(runtime);
    void runtime.whenIdle().then(() => this.#runtimes.delete(runtime));
  }

  /** Keeps a retired listener that owns its sessions until it has closed. */
  drain(tag: string, listener: InboundListener): void {
    if (!(listener instanceof SessionInbound) || this.#listeners.has(listener)) return;
    this.#listeners.set(listener, tag);
    void listener.closed.then(() => this.#listeners.delete(listener));
  }

  /** Called when an inbound has taken over a listener. */
  release(listener: InboundListener): void {
    if (listener instanceof SessionInbound) this.#listeners.delete(listener);
  }
}
