import type { Sender } from './sender.ts';
import { INITIAL_WINDOW } from './settings.ts';

/**
 * The receive window of a connection, shared by all its streams (RFC 9113 §6.9). It is replenished as data arrives, so
 * that a slow reader blocks only its own stream.
 */
export class ConnectionWindow {
  readonly #sender: Sender;
  readonly #size: number;
  #credit = INITIAL_WINDOW;

  /** @param size number of bytes that the peer may have in flight. */
  constructor(size: number, sender: Sender) {
    this.#size = size;
    this.#sender = sender;
  }

  /** Counts the payload of a DATA frame; returns false if the payload exceeds the window. */
  receive(length: number): boolean {
    if (length > this.#credit) return false;
    this.#credit -= length;
    if (this.#credit <= this.#size / 2) this.grant();
    return true;
  }

  /** Opens the window to its full size. */
  grant(): void {
    const increment = this.#size - this.#credit;
    if (increment <= 0) return;
    this.#credit += increment;
    this.#sender.windowUpdate(0, increment);
  }
}
