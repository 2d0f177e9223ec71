import type { Clock } from '../../net/time/clock.ts';
import { Deadline } from '../../net/time/deadline.ts';
import { UnansweredError } from './exchange.ts';
import { abortedDial } from '../../net/errors.ts';
import type { WireCounter } from '../../net/links/link.ts';
import { RepeatedDial } from '../../net/sockets/repeated-dial.ts';
import { unlessAborted } from '../../net/time/unless-aborted.ts';

/** How long a question waits for the connection and the TLS handshake together. */
const CONNECT_MS = 5000;

/** A connection to a DNS server that can be kept for further questions. */
export interface KeepableConnection {
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

/**
 * The one connection to a server that all questions share: opened with the first question, kept until
 * it ends, and opened again for the next question. Questions that arrive while it is being opened join the
 * dial, each with a time limit of its own: see `RepeatedDial`.
 */
export class KeptConnection<C extends KeepableConnection> {
  readonly #open: OpenConnection<C>;
  readonly #clock: Clock;
  /** The dial of the connection, finished or not. */
  #current: RepeatedDial<C> | undefined;
  /** Aborts the connection while it is being opened. */
  #opening = new AbortController();

  constructor(clock: Clock, open: OpenConnection<C>) {
    this.#clock = clock;
    this.#open = open;
  }

  /**
   * Runs `ask` on the connection. When the connection is lost before the reply, it runs once more on a
   * new one: a server may close an idle connection just when it is used again.
   */
  async use<T>(ask: (connection: C) => Promise<T>, signal: AbortSignal): Promise<T> {
    const connection = await this.#get(signal);
    try {
      return await ask(connection);
    } catch (error) {
      if (!(error instanceof UnansweredError) || signal.aborted) throw error;
    }
    return ask(await this.#get(signal));
  }

  /** Ends the connection, also while it is being opened; the next question opens another. */
  close(): void {
    this.#opening.abort(new UnansweredError());
    this.#current?.made.then(
      (connection) => connection.end(),
      () => undefined,
    );
    this.#current = undefined;
  }

  async #get(signal: AbortSignal): Promise<C> {
    if (this.#current) this.#current.join();
    else this.#current = this.#connect();
    using deadline = new Deadline(this.#clock, CONNECT_MS, 'connecting', signal);
    return await unlessAborted(this.#current.made, deadline.signal, abortedDial);
  }

  #connect(): RepeatedDial<C> {
    this.#opening = new AbortController();
    const late = new WeakSet<C>();
    const forget = (): void => {
      if (this.#current === dial) this.#current = undefined;
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
    // Pending questions fail with it; the next one tries again.
    dial.made.catch(forget);
    return dial;
  }
}
