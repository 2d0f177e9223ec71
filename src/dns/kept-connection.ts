import type { Clock } from '../net/clock.ts';
import { Deadline } from '../net/deadline.ts';
import { ConnectionLostError } from './exchange.ts';
import { abortedDial } from '../net/errors.ts';
import { unlessAborted } from '../net/unless-aborted.ts';

/** Connecting and the TLS handshake together. */
const CONNECT_MS = 5000;

/** A connection to a server that answers questions until it ends. */
export interface Connection {
  /** Closes it; pending questions fail with ConnectionLostError. */
  end(cause?: unknown): void;
}

/**
 * The one connection to a server that all questions share: opened with the first question, kept until
 * it ends, and opened anew for the next question.
 */
export class KeptConnection<C extends Connection> {
  readonly #open: (signal: AbortSignal, onEnd: () => void) => Promise<C>;
  readonly #clock: Clock;
  #current: Promise<C> | undefined;
  /** Aborts the connection while it is being opened. */
  #opening = new AbortController();

  /** `open` connects; its connection calls `onEnd` once when it takes no more questions. */
  constructor(clock: Clock, open: (signal: AbortSignal, onEnd: () => void) => Promise<C>) {
    this.#clock = clock;
    this.#open = open;
  }

  /**
   * Runs `ask` on the connection. When the connection is lost before the reply, it is run once more on
   * a new one: a server may close an idle connection just when it is used again.
   */
  async use<T>(ask: (connection: C) => Promise<T>, signal: AbortSignal): Promise<T> {
    const connection = await this.#get(signal);
    try {
      return await ask(connection);
    } catch (error) {
      if (!(error instanceof ConnectionLostError) || signal.aborted) throw error;
    }
    return ask(await this.#get(signal));
  }

  /** Ends the connection, one that is being opened as well; the next question opens another. */
  close(): void {
    this.#opening.abort(new ConnectionLostError());
    this.#current?.then(
      (connection) => connection.end(),
      () => undefined,
    );
    this.#current = undefined;
  }

  #get(signal: AbortSignal): Promise<C> {
    this.#current ??= this.#connect();
    return unlessAborted(this.#current, signal, abortedDial);
  }

  #connect(): Promise<C> {
    const forget = (): void => {
      if (this.#current === current) this.#current = undefined;
    };
    const current = this.#limited(forget);
    // Pending questions fail with it; the next one tries again.
    current.catch(forget);
    return current;
  }

  async #limited(onEnd: () => void): Promise<C> {
    this.#opening = new AbortController();
    using deadline = new Deadline(this.#clock, CONNECT_MS, 'connecting', this.#opening.signal);
    return await this.#open(deadline.signal, onEnd);
  }
}
