import { AGAIN, type StreamSocket } from '../../../platform/sockets/streams/stream-socket.ts';
import { systemClock, type Timer } from '../../time/clock.ts';
import { SOCKET_LINGER_BYTES, SOCKET_LINGER_MS } from '../socket-limits.ts';

/**
 * Reads and discards on a destroyed link until the peer has ended as well (RFC 9112 §9.6): the
 * kernel resets a connection that is closed with unread bytes, and data that the peer has not read yet
 * would be lost.
 */
export class Linger {
  readonly #socket: StreamSocket;
  readonly #over: () => void;
  /** The time limit; created only when the peer has to be waited for: most have ended by then. */
  #timer: Timer | undefined;
  #left = SOCKET_LINGER_BYTES;

  /** @param over called when the socket can be closed; never within this call. */
  constructor(socket: StreamSocket, over: () => void) {
    this.#socket = socket;
    this.#over = over;
  }

  /** Discards received data; the socket may be closed afterwards. */
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
    // The system's clock: this limit is not part of any protocol.
    this.#timer = systemClock.after(SOCKET_LINGER_MS, this.#over);
    this.#socket.keepAlive(false);
  }
}
