import type { TransportSession } from './transport-session.ts';

/**
 * The sessions of a tunnel (whitepaper §5.4.6 and §6.1): a session is replaced while packets of the previous one
 * are still in flight.
 */
export class TransportSessions {
  /** The session that packets are sent with. */
  #current: TransportSession | undefined;
  /** The session before the current one: its packets are still accepted. */
  #previous: TransportSession | undefined;
  /** The responder's newest session, until a packet of the initiator confirms that it has the keys. */
  #next: TransportSession | undefined;

  get current(): TransportSession | undefined {
    return this.#current;
  }

  get next(): TransportSession | undefined {
    return this.#next;
  }

  /** Returns the session with an index of this side. */
  find(index: number): TransportSession | undefined {
    if (this.#current?.index === index) return this.#current;
    if (this.#next?.index === index) return this.#next;
    if (this.#previous?.index === index) return this.#previous;
    return undefined;
  }

  /** Adds the session of a completed handshake of this side, which is used at once. */
  addInitiated(session: TransportSession): void {
    this.#previous?.[Symbol.dispose]();
    if (this.#next) this.#current?.[Symbol.dispose]();
    // The peer may already send with `next`, so that session is the one to keep.
    this.#previous = this.#next ?? this.#current;
    this.#next = undefined;
    this.#current = session;
  }

  /** Adds the session of a handshake of the peer that was responded to. */
  addResponded(session: TransportSession): void {
    this.#next?.[Symbol.dispose]();
    this.#previous?.[Symbol.dispose]();
    this.#previous = undefined;
    this.#next = session;
  }

  /** Called when a packet was received with a session. @returns whether that confirms the newest session. */
  confirm(session: TransportSession): boolean {
    if (session !== this.#next) return false;
    this.#previous?.[Symbol.dispose]();
    this.#previous = this.#current;
    this.#current = session;
    this.#next = undefined;
    return true;
  }

  /** Erases all keys. */
  clear(): void {
    for (const session of [this.#current, this.#previous, this.#next]) session?.[Symbol.dispose]();
    this.#current = undefined;
    this.#previous = undefined;
    this.#next = undefined;
  }
}
