import { AGAIN, type StreamSocket } from '../../../platform/sockets/streams/stream-socket.ts';
import { systemClock, type Timer } from '../../time/clock.ts';
import { SOCKET_LINGER_BYTES, SOCKET_LINGER_MS } from '../socket-limits.ts';

/**
 * Reads on after both sides of a link are done with it, to drop what comes, until the peer has ended
 * too (RFC 9112 §9.6): the kernel resets a connection that is closed with bytes unread, and what
 * the peer has not yet taken would be lost.
 */
export class Linger {
  readonly #socket: StreamSocket;
  readonly #over: () => void;
  /** Runs once the peer is waited for: most have ended by then, and take neither of these. */
  #timer: Timer | undefined;
  #left = SOCKET_LINGER_BYTES;

  /** @param over is called when the socket can be closed; never within this call. */
  constructor(socket: StreamSocket, over: () => void) {
    this.#socket = socket;
    this.#over = over;
  }

  /** Drops what the socket has; it may have been closed afterwards. */
  swallow(): void {
    while (this.#socket.isOpen) {
      const count = this.#socket.receive();
      if (count === AGAIN) {
        this.#wait();
        return;
      }
      this.#left -= Math.max(count, 0);
      if (count <= 0 || this.#left < 0) this.#over();
    }
  }

  cancel(): void {
    this.#timer?.cancel();
  }

  #wait(): void {
    if (this.#timer) return;
    // The system's clock: what a closed link leaves to the kernel is not a limit of any protocol.
    this.#timer = systemClock.after(SOCKET_LINGER_MS, this.#over);
    this.#socket.keepAlive(false);
  }
}
