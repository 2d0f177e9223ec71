/**
 * What a connection itself waits for; retransmission of data has deadlines of its own (`Recovery`).
 *
 * - `handshake`: the next SYN or SYN-ACK is due (RFC 9293 §3.8.1, RFC 6298).
 * - `acknowledgment`: a delayed ACK is due (RFC 9293 §3.8.6.3).
 * - `persist`: a zero window is to be probed (§3.8.6.1).
 * - `keepAlive`: the peer was silent (§3.8.4).
 * - `user`: the user timeout (§3.8.3), of a handshake or of unacknowledged data.
 * - `close`: the end of FIN-WAIT-2 after everything was read, or of TIME-WAIT.
 */
export type DeadlineName =
  | 'handshake'
  | 'acknowledgment'
  | 'persist'
  | 'keepAlive'
  | 'user'
  | 'close';

/** Named points in time, in milliseconds; Infinity for those that are not set. */
export class Deadlines {
  readonly #at: Record<DeadlineName, number> = {
    handshake: Infinity,
    acknowledgment: Infinity,
    persist: Infinity,
    keepAlive: Infinity,
    user: Infinity,
    close: Infinity,
  };

  at(name: DeadlineName): number {
    return this.#at[name];
  }

  isSet(name: DeadlineName): boolean {
    return this.#at[name] !== Infinity;
  }

  set(name: DeadlineName, at: number): void {
    this.#at[name] = at;
  }

  clear(name: DeadlineName): void {
    this.#at[name] = Infinity;
  }

  clearAll(): void {
    const at = this.#at;
    at.handshake = Infinity;
    at.acknowledgment = Infinity;
    at.persist = Infinity;
    at.keepAlive = Infinity;
    at.user = Infinity;
    at.close = Infinity;
  }

  /** Whether it is due; then it is cleared. */
  take(name: DeadlineName, now: number): boolean {
    if (now < this.#at[name]) return false;
    this.#at[name] = Infinity;
    return true;
  }

  /** The earliest. */
  get next(): number {
    const at = this.#at;
    return Math.min(at.handshake, at.acknowledgment, at.persist, at.keepAlive, at.user, at.close);
  }
}
