import type { Clock } from '../../net/time/clock.ts';
import { Deadline } from '../../net/time/deadline.ts';
import { UnansweredError } from './exchange.ts';
import { abortedDial } from '../../net/errors.ts';
import type { WireCounter } from '../../net/links/link.ts';
import { RepeatedDial } from '../../net/sockets/repeated-dial.ts';
import { unlessAborted } from '../../net/time/unless-aborted.ts';
import { WaitingLine } from './waiting-line.ts';

/** How long a question waits for the connection and the TLS handshake together. */
const CONNECT_MS = 5000;

/** Attempts in a row of one question on connections that answer none. */
const MAX_FRUITLESS = 2;

/** A connection to a DNS server that can be kept for further questions. */
export interface KeepableConnection {
  /** Questions that it has answered, or that it still answers after it takes no more. */
  readonly answered: number;
  /** Closes it; pending questions fail with ConnectionLostError. */
  end(cause?: unknown): void;
}

/**
 * Connects.
 * @param onEnd called once when the connection takes no more questions.
 * @param onWire called with what counts the bytes of the connection, as soon as it is dialled.
 */
export type OpenConnection<C> = (
  signal: AbortSignal,
  onEnd: () => void,
  onWire: (wire: WireCounter) => void,
) => Promise<C>;

/** A connection, or the dial of one, and its use. */
interface Kept<C> {
  readonly dial: RepeatedDial<C>;
  /** Questions that wait for it, or on it. */
  asking: number;
  /** Whether there were several of them at once. */
  isShared: boolean;
}

/**
 * The one connection to a server that all questions share: opened with the first question, kept until
 * it ends, and opened again for the next question. Questions that arrive while it is being opened join the
 * dial, each with a time limit of its own: see `RepeatedDial`.
 *
 * Servers bound the queries of a connection, and close it with those above the bound unanswered. These are
 * asked again (RFC 7766 §6.2.4) as long as each connection answers at least one, and no more of them at once
 * than the last such connection has answered, so that the work stays linear in the number of questions. A server
 * that closes a connection of several questions before its first answer is asked one at a time, for a while.
 */
export class KeptConnection<C extends KeepableConnection> {
  readonly #open: OpenConnection<C>;
  readonly #clock: Clock;
  #current: Kept<C> | undefined;
  /** Aborts the connection while it is being opened. */
  #opening = new AbortController();
  /** Questions at once on a connection; grows with what one connection answers. */
  #window = Number.POSITIVE_INFINITY;
  /** Questions above the window. */
  readonly #line = new WaitingLine();

  constructor(clock: Clock, open: OpenConnection<C>) {
    this.#clock = clock;
    this.#open = open;
  }

  /**
   * Runs `ask` on the connection. When the connection is lost before the reply, it runs again on a new one:
   * once if the connection has answered nothing, since a server may close an idle connection just when it is used
   * again, and otherwise until `signal` aborts.
   */
  async use<T>(ask: (connection: C) => Promise<T>, signal: AbortSignal): Promise<T> {
    let fruitless = 0;
    for (;;) {
      const kept = this.#join();
      if (!kept) {
        await this.#line.wait(signal);
        continue;
      }
      try {
        const connection = await this.#made(kept, signal);
        try {
          const reply = await ask(connection);
          this.#window = Math.max(this.#window, connection.answered);
          return reply;
        } catch (error) {
          if (!(error instanceof UnansweredError) || signal.aborted) throw error;
          const { answered } = connection;
          const hasEnded = this.#current !== kept;
          if (hasEnded && answered > 0 && error.code !== 'timed_out') {
            fruitless = 0;
            this.#window = answered;
            continue;
          }
          // If one alone is not answered either, the others need not wait for each other to learn it.
          if (hasEnded && error.code !== 'timed_out') this.#window = kept.isShared ? 1 : Infinity;
          if (++fruitless === MAX_FRUITLESS) throw error;
        }
      } finally {
        kept.asking--;
        this.#line.next();
      }
    }
  }

  /** Ends the connection, also while it is being opened; the next question opens another. */
  close(): void {
    this.#opening.abort(new UnansweredError());
    this.#current?.dial.made.then(
      (connection) => connection.end(),
      () => undefined,
    );
    this.#current = undefined;
  }

  /** The current connection, or a new one; `undefined` while as many questions use it as the window allows. */
  #join(): Kept<C> | undefined {
    const kept = (this.#current ??= this.#connect());
    if (kept.asking >= this.#window) return undefined;
    kept.dial.join();
    kept.asking++;
    if (kept.asking > 1) kept.isShared = true;
    this.#line.next();
    return kept;
  }

  async #made({ dial }: Kept<C>, signal: AbortSignal): Promise<C> {
    using deadline = new Deadline(this.#clock, CONNECT_MS, 'connecting', signal);
    return await unlessAborted(dial.made, deadline.signal, abortedDial);
  }

  #connect(): Kept<C> {
    this.#opening = new AbortController();
    const late = new WeakSet<C>();
    const forget = (): void => {
      if (this.#current === kept) this.#current = undefined;
    };
    const dial = new RepeatedDial<C>({
      clock: this.#clock,
      attempt: async (signal, onWire) => {
        const own: { made: C | undefined } = { made: undefined };
        const onEnd = (): void => {
          if (!own.made || !late.has(own.made)) forget();
        };
        own.made = await this.#open(signal, onEnd, onWire);
        return own.made;
      },
      discard: (connection) => {
        late.add(connection);
        connection.end();
      },
      signal: this.#opening.signal,
      limit: CONNECT_MS,
    });
    // Pending questions fail with it, those in line too; the next one tries again.
    dial.made.catch(() => {
      forget();
      this.#window = Infinity;
    });
    const kept: Kept<C> = { dial, asking: 0, isShared: false };
    return kept;
  }
}
