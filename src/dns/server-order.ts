import type { Endpoint } from '../net/addresses/address.ts';
import type { Clock } from '../net/time/clock.ts';

/** Milliseconds for which a server that did not respond is asked last. */
const HOLD_MS = 10_000;

/**
 * The order in which the servers of one list are asked: as configured, or each first in turn.
 *
 * A server that did not respond comes after those that did, so that not every new name waits for it
 * (RFC 9520 §3.2). After HOLD_MS one question tries it first again, while all others keep it last.
 */
export class ServerOrder {
  readonly #servers: readonly Endpoint[];
  readonly #clock: Clock;
  readonly #rotate: boolean;
  /** Time at which a server that did not respond may be asked first again. */
  readonly #heldUntil = new Map<Endpoint, number>();
  #turn = 0;

  constructor(servers: readonly Endpoint[], clock: Clock, rotate: boolean) {
    this.#servers = servers;
    this.#clock = clock;
    this.#rotate = rotate;
  }

  /** Returns all servers, in the order for one question. */
  next(): readonly Endpoint[] {
    const now = this.#clock.now();
    const first = this.#rotate ? this.#turn++ % this.#servers.length : 0;
    const order = [...this.#servers.slice(first), ...this.#servers.slice(0, first)];
    if (this.#heldUntil.size === 0) return order;
    const isHeld = (server: Endpoint): boolean => (this.#heldUntil.get(server) ?? 0) > now;
    const sorted = [...order.filter((each) => !isHeld(each)), ...order.filter(isHeld)];
    const [tried] = sorted;
    if (tried && this.#heldUntil.has(tried)) this.silent(tried);
    return sorted;
  }

  /** Records that a server did not respond to a question. */
  silent(server: Endpoint): void {
    this.#heldUntil.set(server, this.#clock.now() + HOLD_MS);
  }

  /** Records that a server has responded, with any code. */
  responded(server: Endpoint): void {
    this.#heldUntil.delete(server);
  }
}
