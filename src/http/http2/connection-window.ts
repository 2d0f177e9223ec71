import type { Sender } from './sender.ts';
import { INITIAL_WINDOW } from './settings.ts';

/**
 * What the peer may still send on all streams together (RFC 9113 §6.9). Data is acknowledged as it
 * arrives, so that a reader that rests holds back its own stream alone.
 */
export class ConnectionWindow {
  readonly #sender: Sender;
  readonly #size: number;
  #credit = INITIAL_WINDOW;

  /** @param size what the peer may have in flight, in bytes. */
  constructor(size: number, sender: Sender) {
    this.#size = size;
    this.#sender = sender;
  }

  /** Counts the payload of a DATA frame; false when it exceeds the window. */
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
