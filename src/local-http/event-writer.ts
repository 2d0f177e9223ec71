import type { ServerResponse } from 'node:http';

/** Milliseconds without an event after which a comment is sent. */
const KEEP_ALIVE_MS = 15_000;
/** Milliseconds after which a client that accepts no data is disconnected. */
const STALLED_MS = 30_000;
/** Maximum bytes that may wait for a client. */
const MAX_BACKLOG = 1 << 20;

const HEADERS = { 'Content-Type': 'text/event-stream', 'Cache-Control': 'no-store' };

/**
 * A stream of server-sent events to one client. The backlog of a slow client is bounded: beyond the bound, and when it
 * accepts no data for some time, the client is disconnected. A browser then reconnects and requests whole values.
 */
export class EventWriter {
  /** Called when the client has accepted all data. */
  onReady: (() => void) | undefined;
  /** Called once, after the client has disconnected or was disconnected. */
  onClose: (() => void) | undefined;
  readonly #response: ServerResponse;
  readonly #timer: NodeJS.Timeout;
  #lastWrite = performance.now();
  #isClosed = false;

  constructor(response: ServerResponse, headers: Readonly<Record<string, string>> = {}) {
    this.#response = response;
    response.writeHead(200, { ...headers, ...HEADERS });
    response.flushHeaders();
    response.once('close', () => this.#closed());
    this.#timer = setInterval(() => this.#look(), KEEP_ALIVE_MS);
    this.#timer.unref();
  }

  /** Whether the client has accepted all data: a feed of states can wait for it, and skip intermediate states. */
  get ready(): boolean {
    return !this.#isClosed && this.#backlog === 0;
  }

  get closed(): boolean {
    return this.#isClosed;
  }

  /**
   * Sends one event (HTML standard §9.2.6). `data` must not have line breaks, as JSON has none.
   * @returns whether the client is still connected
   */
  send(data: string, event?: string): boolean {
    const name = event === undefined ? '' : `event: ${event}\n`;
    return this.#write(`${name}data: ${data}\n\n`);
  }

  /** Ends the stream after the data already sent. */
  end(): void {
    if (!this.#isClosed) this.#response.end();
    this.#closed();
  }

  get #backlog(): number {
    return this.#response.writableLength;
  }

  #write(text: string): boolean {
    if (this.#isClosed) return false;
    if (this.#backlog + text.length > MAX_BACKLOG && this.#backlog > 0) {
      this.#disconnect();
      return false;
    }
    if (this.#backlog === 0) this.#lastWrite = performance.now();
    this.#response.write(text, () => {
      if (this.ready) this.onReady?.();
    });
    return true;
  }

  #look(): void {
    if (this.#backlog === 0) this.#write(':\n\n');
    else if (performance.now() - this.#lastWrite > STALLED_MS) this.#disconnect();
  }

  #disconnect(): void {
    this.#response.destroy();
    this.#closed();
  }

  #closed(): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearInterval(this.#timer);
    this.onClose?.();
  }
}
