import type { Clock, Timer } from '../../../net/time/clock.ts';
import type { WireCounter } from '../../../net/links/link.ts';
import { ASSOCIATION_SILENCE_MS, SILENCE_MS } from '../limits.ts';

/**
 * Notices by its silence that the server of a connection has gone. A QUIC endpoint acknowledges
 * datagrams within milliseconds (RFC 9221 §5.2), and is probed while it does not (RFC 9002 §6.2): one
 * from which nothing comes after a datagram is gone, or the path is. The idle timeout says so later.
 */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #wire: WireCounter;
  readonly #onSilent: () => void;
  readonly #onDead: () => void;
  #timer: Timer | undefined;
  /** What had come when the watch began. */
  #received = 0;
  #isStopped = false;

  /**
   * @param onSilent called after SILENCE_MS without a byte,
   * @param onDead and after ASSOCIATION_SILENCE_MS, once.
   */
  constructor(clock: Clock, wire: WireCounter, onSilent: () => void, onDead: () => void) {
    this.#clock = clock;
    this.#wire = wire;
    this.#onSilent = onSilent;
    this.#onDead = onDead;
  }

  /** A datagram was sent. Cheap while one is watched already. */
  readonly onSent = (): void => {
    if (this.#timer || this.#isStopped) return;
    this.#received = this.#wire.bytesRead;
    this.#timer = this.#clock.after(SILENCE_MS, () => {
      this.#timer = undefined;
      if (!this.#isSilent) return;
      this.#onSilent();
      this.#timer = this.#clock.after(ASSOCIATION_SILENCE_MS - SILENCE_MS, () => {
        this.#timer = undefined;
        if (!this.#isSilent) return;
        this.stop();
        this.#onDead();
      });
    });
  };

  /** Ends the watch. Idempotent. */
  stop(): void {
    this.#isStopped = true;
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  get #isSilent(): boolean {
    return this.#wire.bytesRead === this.#received;
  }
}
