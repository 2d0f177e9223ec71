import type { TransportSession } from './transport-session.ts';

/**
 * The sessions of a tunnel (whitepaper §5.4.6 and §6.1): one is replaced while packets of the one before it
 * are still on their way.
 */
export class TransportSessions {
  /** What packets are sent with. */
  #current: TransportSession | undefined;
  /** What it took the place of: still received with. */
  #previous: TransportSession | undefined;
  /** The responder's newest, until the initiator has used it: only then it is known to have the keys. */
  #next: TransportSession | undefined;

  get current(): TransportSession | undefined {
    return this.#current;
  }

  get next(): TransportSession | undefined {
    return this.#next;
  }

  /** The session of that own index. */
  find(index: number): TransportSession | undefined {
    if (this.#current?.index === index) return this.#current;
    if (this.#next?.index === index) return this.#next;
    if (this.#previous?.index === index) return this.#previous;
    return undefined;
  }

  /** A handshake of this side is complete: its session is used at once. */
  addInitiated(session: TransportSession): void {
    this.#previous?.[Symbol.dispose]();
    if (this.#next) this.#current?.[Symbol.dispose]();
    this.#previous = this.#next ?? this.#current;
    this.#next = undefined;
    this.#current = session;
  }

  /** A handshake of the peer has had its response. */
  addResponded(session: TransportSession): void {
    this.#next?.[Symbol.dispose]();
    this.#previous?.[Symbol.dispose]();
    this.#previous = undefined;
    this.#next = session;
  }

  /** A packet has come with a session. @returns whether that confirms the newest. */
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
