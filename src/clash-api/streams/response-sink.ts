import type { LocalExchange } from '../../local-http/local-exchange.ts';
import { LOOK_MS, StallWatch, type ClashSink } from './clash-sink.ts';

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
