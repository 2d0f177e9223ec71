import { Buffer } from 'node:buffer';
import type { LocalExchange } from '@weir/server/local-http';

/** A client of a stream of JSON texts: a WebSocket, or an endless response. */
export interface ClashSink {
  /** Whether the client has accepted all data: a text that replaces an earlier one waits for that. */
  readonly isReady: boolean;
  /** Number of bytes that wait for the client. */
  readonly backlog: number;
  /** Aborted when the client has disconnected or was disconnected. */
  readonly signal: AbortSignal;
  /** Sends a text. @param text in pieces, with a newline at its end */
  send(text: readonly Uint8Array[]): void;
  /** Ends the stream; a client may connect again. */
  end(): void;
}

/** A value as JSON text with a newline, in one piece. */
export const jsonLine = (value: unknown): readonly Uint8Array[] => [
  Buffer.from(`${JSON.stringify(value)}\n`),
];

/** Milliseconds between checks of a client: one that has accepted no data in between is disconnected. */
export const LOOK_MS = 30_000;

/** Detects whether a client has stopped accepting data. */
export class StallWatch {
  #taken = -1;

  /** @returns whether data is waiting, and none was accepted since the last call */
  isStalled(backlog: number, written: number): boolean {
    const taken = written - backlog;
    const isStalled = backlog > 0 && taken === this.#taken;
    this.#taken = taken;
    return isStalled;
  }
}

/** An endless response with a line for each text, as mihomo sends it to clients without WebSockets. */
export class ResponseSink implements ClashSink {
  readonly signal: AbortSignal;
  readonly #exchange: LocalExchange;
  readonly #watch = new StallWatch();
  #written = 0;

  constructor(exchange: LocalExchange) {
    const { response, request, signal } = exchange;
    this.#exchange = exchange;
    this.signal = signal;
    // A log may have no lines for a long time.
    request.socket.setTimeout(0);
    response.writeHead(200, { 'Content-Type': 'application/json', 'Cache-Control': 'no-store' });
    response.flushHeaders();
    const timer = setInterval(() => this.#look(), LOOK_MS);
    timer.unref();
    signal.addEventListener('abort', () => clearInterval(timer), { once: true });
  }

  get isReady(): boolean {
    return !this.signal.aborted && this.backlog === 0;
  }

  get backlog(): number {
    return this.#exchange.response.writableLength;
  }

  send(text: readonly Uint8Array[]): void {
    if (this.signal.aborted) return;
    for (const piece of text) {
      this.#written += piece.length;
      this.#exchange.response.write(piece);
    }
  }

  end(): void {
    this.#exchange.response.end();
  }

  #look(): void {
    if (this.#watch.isStalled(this.backlog, this.#written)) this.#exchange.response.destroy();
  }
}
