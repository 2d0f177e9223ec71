import type { ServerResponse } from 'node:http';
import type { Clock, Timer } from '@weir/io/time';

/** Milliseconds without an event after which a comment is sent. */
export const KEEP_ALIVE_MS = 15_000;

export const EVENT_STREAM_HEADERS = {
  'Content-Type': 'text/event-stream',
  'Cache-Control': 'no-cache',
};

/** Milliseconds after which a client of a bounded stream that accepts no data is disconnected. */
const STALLED_MS = 30_000;

const COMMENT = ':\n\n';

/** One event (HTML standard §9.2.6). `data` must not have line breaks, as JSON has none. */
export const eventText = (name: string | undefined, data: string): string =>
  `${name === undefined ? '' : `event: ${name}\n`}data: ${data}\n\n`;

export interface SseOptions {
  readonly headers?: Readonly<Record<string, string>>;
  /**
   * Maximum bytes that may wait for the client. Beyond it, and when the client accepts no data for some time, it is
   * disconnected. Without a bound a feed sends only while the stream is `ready`.
   */
  readonly maxBacklog?: number;
}

/**
 * One client of server-sent events.
 *
 * Until the system has accepted all that was sent the stream is not `ready`. A feed that waits for it keeps only the
 * client's position: a client that never reads costs one piece and the socket's buffer.
 */
export class SseStream {
  /** Called when everything has been sent and the next piece may be. */
  onReady: (() => void) | undefined;
  /** Called once, when the client has disconnected or the stream has been ended. */
  onClose: (() => void) | undefined;
  readonly #response: ServerResponse;
  readonly #clock: Clock;
  readonly #maxBacklog: number | undefined;
  #timer: Timer | undefined;
  #lastWrite: number;
  /** When the oldest piece was sent that may still wait. */
  #waitingSince = 0;
  /** Number of pieces that wait for the client. */
  #waiting = 0;
  #closed = false;

  constructor(response: ServerResponse, clock: Clock, options: SseOptions = {}) {
    const { headers = EVENT_STREAM_HEADERS, maxBacklog } = options;
    this.#response = response;
    this.#clock = clock;
    this.#maxBacklog = maxBacklog;
    this.#lastWrite = clock.now();
    response.writeHead(200, headers);
    response.flushHeaders();
    response.once('close', () => this.#close());
    this.#keepAliveAfter(KEEP_ALIVE_MS);
  }

  get ready(): boolean {
    return this.#waiting === 0 && !this.#closed;
  }

  get closed(): boolean {
    return this.#closed;
  }

  /**
   * Sends whole events. The caller must not change `piece` afterwards.
   * @returns whether the client is still connected
   */
  send(piece: Buffer | string): boolean {
    if (this.#closed) return false;
    const backlog = this.#response.writableLength;
    if (backlog > 0 && backlog + piece.length > (this.#maxBacklog ?? Infinity)) {
      this.#disconnect();
      return false;
    }
    this.#lastWrite = this.#clock.now();
    if (this.#waiting === 0) this.#waitingSince = this.#lastWrite;
    this.#waiting++;
    // Explicitly corked, the piece is written now instead of at the end of the tick, so that its
    // time counts in this round.
    this.#response.cork();
    this.#response.write(piece, () => {
      this.#waiting--;
      if (this.ready) this.onReady?.();
    });
    this.#response.uncork();
    return true;
  }

  /** Ends the stream after the pieces already sent. */
  end(): void {
    if (!this.#closed) this.#response.end();
    this.#close();
  }

  #keepAliveAfter(milliseconds: number): void {
    this.#timer = this.#clock.after(milliseconds, () => {
      const now = this.#clock.now();
      const left = this.#lastWrite + KEEP_ALIVE_MS - now;
      this.#keepAliveAfter(left > 0 ? left : KEEP_ALIVE_MS);
      if (this.ready) {
        if (left <= 0) this.send(COMMENT);
      } else if (this.#maxBacklog !== undefined && now - this.#waitingSince > STALLED_MS) {
        this.#disconnect();
      }
    });
  }

  #disconnect(): void {
    this.#response.destroy();
    this.#close();
  }

  #close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#timer?.cancel();
    this.onClose?.();
  }
}
