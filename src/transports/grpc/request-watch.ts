import type { Clock, Timer } from '../../net/time/clock.ts';
import { REQUEST_PROBE_MS, REQUEST_SILENCE_MS } from '../limits.ts';
import type { PeerWatch } from './peer-watch.ts';

type WatchedPeer = Pick<PeerWatch, 'silence' | 'responds'>;

/**
 * Detects a server that does not respond to sent data: the path of a connection fails with its local address, which TCP
 * detects only after a quarter of an hour. `PeerWatch` waits longer, since it closes the connection with all its
 * tunnels; `RequestWatch` only moves datagrams and new tunnels to another connection.
 */
export class RequestWatch {
  readonly #clock: Clock;
  readonly #peer: WatchedPeer;
  readonly #onSilent: () => void;
  #timer: Timer | undefined;
  #sentAt = 0;
  #isProbing = false;

  /** @param onSilent called when the server does not respond. */
  constructor(clock: Clock, peer: WatchedPeer, onSilent: () => void) {
    this.#clock = clock;
    this.#peer = peer;
    this.#onSilent = onSilent;
  }

  /** Called after each request and each datagram; starts a watch unless one is in progress. */
  readonly onSent = (): void => {
    this.#sentAt = this.#clock.now();
    if (!this.#timer && !this.#isProbing) this.#arm(REQUEST_SILENCE_MS);
  };

  /** Ends the current watch. */
  stop(): void {
    this.#timer?.cancel();
    this.#timer = undefined;
  }

  #arm(milliseconds: number): void {
    this.#timer = this.#clock.after(milliseconds, () => {
      this.#timer = undefined;
      const { silence } = this.#peer;
      if (silence >= REQUEST_SILENCE_MS) void this.#probe();
      // The received data may be a response to something sent earlier.
      else if (this.#sentAt >= this.#clock.now() - silence) this.#arm(REQUEST_SILENCE_MS - silence);
    });
  }

  async #probe(): Promise<void> {
    this.#isProbing = true;
    const responds = await this.#peer.responds(REQUEST_PROBE_MS);
    this.#isProbing = false;
    if (!responds) this.#onSilent();
  }
}
