import type { IncomingMessage, ServerResponse } from 'node:http';
import type { PacedSocket } from '@weir/http/http1/paced-socket';
import type { Clock } from '@weir/io/time';

/** Maximum number of pipelined requests waiting on a connection. */
const MOST_WAITING = 256;

/** How long a client may continue to send after an early response, in milliseconds. */
const LINGER_MS = 1_000;

/** A request, its response, and the function that serves it. */
export interface ApiExchange {
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  /** Whether the request is cancelled when the client disconnects. */
  readonly abandonable: boolean;
  /** Whether later requests are ignored; its response announces the end of the connection. */
  readonly isLast: boolean;
  readonly serve: () => void;
}

/**
 * An accepted connection. Its requests are served one after another, so that the effects of a
 * pipelined request are complete before the next begins.
 */
export class ApiConnection {
  readonly #socket: PacedSocket;
  readonly #clock: Clock;
  readonly #waiting: ApiExchange[] = [];
  #current: ApiExchange | undefined;
  #closing = false;
  #lingering = false;

  constructor(socket: PacedSocket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    const closeAtOnce = socket.destroySoon.bind(socket);
    // Node calls this after the last response. Closing while a request is still arriving resets the
    // connection, and the reset can overtake the response (RFC 9112 §9.6).
    socket.destroySoon = () => {
      if (this.#current?.request.complete === false) this.#linger();
      else closeAtOnce();
    };
    socket.once('end', () => {
      if (this.#current?.abandonable === true || this.#lingering) socket.destroy();
    });
  }

  /** Whether a response is in progress. */
  get busy(): boolean {
    return this.#current !== undefined;
  }

  /** Whether the response in progress, if any, is the last, so that further requests are ignored. */
  get isClosing(): boolean {
    return this.#closing;
  }

  /** Discards unparsed input, once `isClosing` and a further request has arrived. */
  ignoreInput(): void {
    this.#socket.ignoreInput();
  }

  /** Serves the exchange after the previous ones; must not be called once `isClosing`. */
  take(exchange: ApiExchange): void {
    if (this.#waiting.length >= MOST_WAITING) this.#socket.destroy();
    else if (this.#current) this.#waiting.push(exchange);
    else this.#begin(exchange);
  }

  /** Closes after the response in progress, or immediately without one. */
  finish(): void {
    this.#closing = true;
    this.#waiting.length = 0;
    if (!this.#current) {
      this.#socket.destroy();
      return;
    }
    const { response } = this.#current;
    if (!response.headersSent) response.setHeader('Connection', 'close');
  }

  /** Sends bytes instead of a response and closes; after the start of a response, only closes. */
  refuse(bytes: Buffer): void {
    if (this.#lingering) return;
    if (!this.#socket.writable || this.#current?.response.headersSent === true) {
      this.#socket.destroy();
      return;
    }
    this.#closing = true;
    this.#waiting.length = 0;
    this.#socket.write(bytes);
    this.#linger();
  }

  #begin(exchange: ApiExchange): void {
    this.#current = exchange;
    if (exchange.isLast) {
      this.#closing = true;
      this.#waiting.length = 0;
    }
    exchange.response.once('close', () => {
      this.#current = undefined;
      if (this.#socket.destroyed) return;
      if (this.#closing && !this.#lingering) this.#socket.destroySoon();
      const next = this.#waiting.shift();
      if (next) this.#begin(next);
    });
    exchange.serve();
  }

  /** Sends pending data, half-closes, and discards input until the client closes or `LINGER_MS` elapses. */
  #linger(): void {
    if (this.#lingering) return;
    this.#lingering = true;
    this.#closing = true;
    this.#socket.end();
    const timer = this.#clock.after(LINGER_MS, () => this.#socket.destroy());
    this.#socket.once('close', () => timer.cancel());
    this.#socket.resume();
  }
}
