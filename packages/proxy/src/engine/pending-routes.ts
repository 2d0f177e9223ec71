import { type Endpoint, formatEndpoint } from '@weir/io/addresses';
import type { DialError } from '@weir/io';
import { KeptDatagrams } from '@weir/io/bounds';
import type { Packet } from '@weir/io/links';
import type { Clock } from '@weir/io/time';
import { failedHook } from './dial-errors.ts';
import type { Resolved } from './routing-snapshot.ts';

/** Milliseconds for which packets to a peer are dropped after a refusal or a failure. */
const FAILED_MS = 1_000;
/** Peers without a route, of one association. */
const MOST_PEERS = 1_024;
/** Packets to one peer that wait for its route. */
const KEPT_PACKETS = 64;

interface PendingPeer {
  /** The packets that wait; `undefined` when there will be no route. */
  waiting: Packet[] | undefined;
  /** Time from which on the route may be asked for again, in milliseconds of the monotonic clock. */
  retryAt: number;
}

interface PendingRoutesDeps {
  readonly clock: Clock;
  /** Called when a peer has its route, with the packets that have waited for it. */
  readonly onRoute: (written: Endpoint, route: Resolved, packets: readonly Packet[]) => void;
  /** Called when a peer gets no route: its packets are dropped. */
  readonly onFailure: (written: Endpoint, error: DialError) => void;
}

/**
 * The peers of an association for which the host program is asked: their packets wait. A peer without a route is asked
 * for again after a second.
 */
export class PendingRoutes {
  readonly #deps: PendingRoutesDeps;
  readonly #peers = new Map<string, PendingPeer>();
  readonly #room = new KeptDatagrams();
  #isClosed = false;

  constructor(deps: PendingRoutesDeps) {
    this.#deps = deps;
  }

  /**
   * Routes a packet.
   * @param ask returns the route, or a promise if that takes time; throws or rejects with a DialError
   * @returns `undefined` if the packet waits for the route, or was dropped
   */
  route(
    { data, peer: written }: Packet,
    ask: () => Resolved | Promise<Resolved>,
  ): Resolved | undefined {
    const { clock } = this.#deps;
    const key = formatEndpoint(written);
    const known = this.#peers.get(key);
    if (known?.waiting) this.#keep(known.waiting, { data, peer: written });
    if (known && (known.waiting || clock.now() < known.retryAt)) return undefined;
    this.#peers.delete(key);
    if (!this.#hasRoom()) return undefined;
    const pending: PendingPeer = { waiting: undefined, retryAt: 0 };
    try {
      const route = ask();
      if (!(route instanceof Promise)) return route;
      pending.waiting = [];
      this.#peers.set(key, pending);
      this.#keep(pending.waiting, { data, peer: written });
      route.then(
        (resolved) => this.#routed(key, pending, written, resolved),
        (error: unknown) => this.#failed(key, pending, written, error),
      );
    } catch (error) {
      this.#failed(key, pending, written, error);
    }
    return undefined;
  }

  /** Drops everything that waits. */
  close(): void {
    this.#isClosed = true;
    for (const { waiting = [] } of this.#peers.values()) this.#room.release(waiting);
    this.#peers.clear();
  }

  #hasRoom(): boolean {
    if (this.#peers.size < MOST_PEERS) return true;
    for (const [key, { waiting }] of this.#peers) if (!waiting) this.#peers.delete(key);
    return this.#peers.size < MOST_PEERS;
  }

  #keep(waiting: Packet[], packet: Packet): void {
    const kept = waiting.length < KEPT_PACKETS ? this.#room.keep(packet) : undefined;
    if (kept) waiting.push(kept);
  }

  #routed(key: string, { waiting = [] }: PendingPeer, written: Endpoint, route: Resolved): void {
    if (this.#isClosed) return;
    this.#peers.delete(key);
    this.#room.release(waiting);
    this.#deps.onRoute(written, route, waiting);
  }

  #failed(key: string, pending: PendingPeer, written: Endpoint, error: unknown): void {
    if (this.#isClosed) return;
    this.#room.release(pending.waiting ?? []);
    pending.waiting = undefined;
    pending.retryAt = this.#deps.clock.now() + FAILED_MS;
    this.#peers.set(key, pending);
    this.#deps.onFailure(written, failedHook(error));
  }
}
