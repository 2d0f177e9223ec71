import type { InboundRuntime } from '../engine/inbound-runtime.ts';
import type { InboundListener } from './inbound-listener.ts';
import type { FreedListener } from './listener-exchange.ts';
import { SessionInbound } from './session-inbound.ts';

/** The live sessions of an inbound, as a stop sees them. */
export interface LiveSide {
  /** Resolves when there are none. */
  whenIdle(): Promise<void>;
  destroy(cause: Error): void;
}

/**
 * What lives on after its inbound was removed, moved or changed to another kind: sessions with
 * connections of their own, and listeners that stay open for the sessions that they own.
 */
export class Departures {
  readonly #runtimes = new Set<InboundRuntime>();
  /** With the tag of the inbound that left it. */
  readonly #listeners = new Map<SessionInbound, string>();

  get sides(): LiveSide[] {
    return [...this.#runtimes, ...this.#listeners.keys()];
  }

  /** Listeners that are draining. */
  get listeners(): SessionInbound[] {
    return [...this.#listeners.keys()];
  }

  /** The same for an exchange of listeners. */
  get freed(): FreedListener[] {
    return Array.from(this.#listeners, ([listener, tag]) => ({ tag, listener, draining: true }));
  }

  /** Holds sessions until the last has ended. */
  awaitSessions(runtime: InboundRuntime): void {
    if (runtime.sessions === 0) return;
    this.#runtimes.add(runtime);
    void runtime.whenIdle().then(() => this.#runtimes.delete(runtime));
  }

  /** Holds a listener that is retired until it is released, if it owns its sessions. */
  drain(tag: string, listener: InboundListener): void {
    if (!(listener instanceof SessionInbound) || this.#listeners.has(listener)) return;
    this.#listeners.set(listener, tag);
    void listener.closed.then(() => this.#listeners.delete(listener));
  }

  /** An inbound has taken a listener over. */
  release(listener: InboundListener): void {
    if (listener instanceof SessionInbound) this.#listeners.delete(listener);
  }
}
