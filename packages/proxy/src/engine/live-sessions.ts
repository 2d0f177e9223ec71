import { ChurnMap } from '@weir/base/collections';
import { unmapIPv4, type Endpoint } from '@weir/io/addresses';
import { endInTurns } from '@weir/io/links';
import type { OwnListeners } from '@weir/io/net/own-listeners';
import type { OpenSession, SessionRegistry, SessionClient } from '../protocols/contract.ts';
import type { Tracker } from '../tracker/tracker.ts';

/**
 * The live sessions of a listener that owns its sessions, or of a handler that serves datagrams: registers
 * them in the tracker, and counts them for reloads and stops.
 */
export class LiveSessions implements SessionRegistry {
  readonly #tag: string;
  readonly #tracker: Tracker;
  readonly #ownListeners: OwnListeners;
  readonly #onEnd: () => void;
  readonly #live = new ChurnMap<symbol, (cause: Error) => void>();
  #idle: PromiseWithResolvers<void> | undefined;

  /** @param onEnd called when a session or a hold has ended */
  constructor(
    tag: string,
    tracker: Tracker,
    ownListeners: OwnListeners,
    onEnd: () => void = () => undefined,
  ) {
    this.#tag = tag;
    this.#tracker = tracker;
    this.#ownListeners = ownListeners;
    this.#onEnd = onEnd;
  }

  get count(): number {
    return this.#live.size;
  }

  open(client: SessionClient): OpenSession {
    const { remote, local, wire, destroy } = client;
    const chain = this.#ownListeners.chainOf(remote, local, 'udp');
    const session = this.#tracker.openSession(this.#tag, sourceOf(remote), wire, chain);
    const release = this.hold(destroy);
    return {
      session,
      moved: (to) => session.moveTo(sourceOf(to)),
      close() {
        session.close();
        release();
      },
    };
  }

  hold(destroy: (cause: Error) => void): () => void {
    // A distinct entry even when the same function is passed twice.
    const live = Symbol('live');
    this.#live.set(live, destroy);
    return () => {
      if (!this.#live.delete(live)) return;
      if (this.#live.size === 0) {
        this.#idle?.resolve();
        this.#idle = undefined;
      }
      this.#onEnd();
    };
  }

  /** Resolves when no session or hold remains. */
  whenIdle(): Promise<void> {
    if (this.#live.size === 0) return Promise.resolve();
    this.#idle ??= Promise.withResolvers<void>();
    return this.#idle.promise;
  }

  /** Ends all sessions and holds, in this and later turns of the event loop. */
  destroy(cause: Error): void {
    void endInTurns([...this.#live.values()], (destroy) => destroy(cause));
  }
}

const sourceOf = (remote: Endpoint | undefined): string | undefined =>
  remote && unmapIPv4(remote.host);
