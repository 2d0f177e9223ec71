import type { DeliveryListener, FrameLog } from '../recovery/delivery.ts';

/**
 * A limit that this side grants the peer and raises. Only the newest value matters: a lost frame is retransmitted if it
 * had that value (RFC 9000 §13.3).
 */
export abstract class GrantedLimit implements DeliveryListener {
  #announced: number;
  #isPending = false;

  /** @param announced the value in the transport parameters. */
  constructor(announced: number) {
    this.#announced = announced;
  }

  /** The last limit that was sent to the peer. */
  get announced(): number {
    return this.#announced;
  }

  /** The limit that `announce` would send. */
  abstract get next(): number;

  /** Whether `next` has to be sent, however little it exceeds the last limit. */
  protected get isPending(): boolean {
    return this.#isPending;
  }

  /** Called when the last limit blocks the peer: it gets a higher one, if any. */
  request(): void {
    if (this.next > this.#announced) this.#isPending = true;
  }

  /** Returns the limit to write into a frame of the packet of `log`. */
  announce(log: FrameLog): number {
    this.#announced = this.next;
    this.#isPending = false;
    log.add(this, this.#announced);
    return this.#announced;
  }

  onAcknowledged(): void {
    // Nothing depends on it.
  }

  onLost(limit: number): void {
    if (limit === this.#announced) this.#isPending = true;
  }
}
