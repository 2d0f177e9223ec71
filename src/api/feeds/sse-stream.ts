import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '../../net/time/clock.ts';

/** Milliseconds without an event after which a comment is sent. */
export const KEEP_ALIVE_MS = 15_000;

export const EVENT_STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
};

const COMMENT = Buffer.from(':\n\n');

/** One event (HTML standard, §9.2.6): `data` is JSON and so has no line break. */
export const eventText = (name: string, data: string): string =>
  `event: ${name}\ndata: ${data}\n\n`;

/**
 * One client of server-sent events.
 *
 * At most one piece is being written to the socket. Until the system has accepted it the stream is
 * not `ready`, and its feed keeps only the client's position: a client that never reads costs one
 * piece and the socket's buffer.
 */
export class SseStream {
  /** Called when the previous piece has been sent and the next may be. */
  onReady: (() => void) | undefined;
  /** Called once, when the client has disconnected or the stream has been ended. */
  onClose: (() => void) | undefined;
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  #timer: Timer | undefined;
  #lastWrite: number;
  #writing = false;
  #closed = false;

  constructor(response: ServerResponse, clock: Clock) {
    this.#response = response;
    this.#clock = clock;
    this.#lastWrite = clock.now();
    response.writeHead(200, EVENT_STREAM_HEADERS);
    response.flushHeaders();
    response.once('close', () => this.#close());
    this.#keepAliveAfter(KEEP_ALIVE_MS);
  }

  get ready(): boolean {
    return !this.#writing && !this.#closed;
  }

  /** Sends whole events; only while `ready`. The caller must not change `piece` afterwards. */
  send(piece: Buffer): void {
    this.#writing = true;
    this.#lastWrite = this.#clock.now();
    // Explicitly corked, the piece is written now instead of at the end of the tick, so that its
    // time counts in this round.
    this.#response.cork();
    this.#response.write(piece, () => {
      this.#writing = false;
      if (!this.#closed) this.onReady?.();
    });
    this.#response.uncork();
  }

  /** Ends the stream after the pieces already sent. */
  end(): void {
    this.#response.end();
    this.#close();
  }

  #keepAliveAfter(milliseconds: number): void {
    this.#timer = this.#clock.after(milliseconds, () => {
      const left = this.#lastWrite + KEEP_ALIVE_MS - this.#clock.now();
      this.#keepAliveAfter(left > 0 ? left : KEEP_ALIVE_MS);
      if (left <= 0 && this.ready) this.send(COMMENT);
    });
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    this.onClose?.();
  }
}
