import { type Clock, Deadline, resumedInTurns, type Timer, unlessAborted } from '@weir/io/time';
import { abortedDial, DeadlineError, DialError, toDialError } from '@weir/io';
import type { WireCounter } from '@weir/io/links';
import { RepeatedDial } from '@weir/io/layers';
import type { Endpoint } from '@weir/io/addresses';
import { UnansweredError } from './exchange.ts';
import type { CaSpec } from '../../spec.ts';
import {
  type SecureClient,
  secureClient,
  type SecureConnection,
} from '../../transports/tls/secure-client.ts';

/** Milliseconds that a question waits for the connection and the TLS handshake together. */
const CONNECT_MS = 5000;

/** Attempts in a row of one question on connections that answer none. */
const MAX_FRUITLESS = 2;

/** A connection to a DNS server that can be kept for further questions. */
export interface KeepableConnection {
  /** Number of questions that the connection has answered, or still answers once it accepts no more. */
  readonly answered: number;
  /** Closes the connection; pending questions fail with ConnectionLostError. */
  end(cause?: unknown): void;
}

/**
 * Connects.
 * @param onEnd called once, when the connection accepts no more questions.
 * @param onWire called with the byte counter of the connection, as soon as it is dialled.
 */
type OpenConnection<C> = (
  signal: AbortSignal,
  onEnd: () => void,
  onWire: (wire: WireCounter) => void,
) => Promise<C>;

/** A connection, or the dial of one, and its use. */
interface Kept<C> {
  readonly dial: RepeatedDial<C>;
  /** Number of questions that wait for the connection, or on it. */
  asking: number;
  /** Whether several questions used the connection at once. */
  isShared: boolean;
}

/**
 * The one connection to a server that all questions share: opened with the first question, kept until it ends, and
 * opened again for the next question. Questions that arrive while it is being opened join the dial, each with its own
 * time limit: see `RepeatedDial`.
 *
 * Servers limit the queries of a connection, and close it with those beyond the limit unanswered. These are repeated
 * (RFC 7766 §6.2.4) as long as each connection answers at least one, and no more of them at once than the last such
 * connection has answered, so that the work stays linear in the number of questions. If a server closes a connection of
 * several questions before its first answer, questions are for a while sent one at a time.
 */
export class KeptConnection<C extends KeepableConnection> {
  readonly #open: OpenConnection<C>;
  readonly #clock: Clock;
  #current: Kept<C> | undefined;
  /** Aborts the dial of the connection. */
  #opening = new AbortController();
  /** Limit of concurrent questions on a connection; grows with the number that one connection answers. */
  #window = Number.POSITIVE_INFINITY;
  /** Questions beyond the window. */
  readonly #slots = new QuestionQueue();

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
        await this.#slots.wait(signal);
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
          // If a single question is not answered either, the others need not wait for each other to learn it.
          if (hasEnded && error.code !== 'timed_out') this.#window = kept.isShared ? 1 : Infinity;
          if (++fruitless === MAX_FRUITLESS) throw error;
        }
      } finally {
        kept.asking--;
        this.#slots.next();
      }
    }
  }

  /** Closes the connection, or aborts its dial; the next question opens another. */
  close(): void {
    this.#opening.abort(new UnansweredError());
    this.#current?.dial.made.then(
      (connection) => connection.end(),
      () => undefined,
    );
    this.#current = undefined;
  }

  /** Returns the current connection, or a new one; `undefined` while as many questions use it as the window allows. */
  #join(): Kept<C> | undefined {
    const kept = (this.#current ??= this.#connect());
    if (kept.asking >= this.#window) return undefined;
    kept.dial.join();
    kept.asking++;
    if (kept.asking > 1) kept.isShared = true;
    this.#slots.next();
    return kept;
  }

  async #made({ dial }: Kept<C>, signal: AbortSignal): Promise<C> {
    using deadline = new Deadline(this.#clock, CONNECT_MS, 'connecting', signal);
    return await unlessAborted(resumedInTurns(dial.made), deadline.signal, abortedDial);
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
    // Pending questions fail with the dial, including queued ones; the next question tries again.
    dial.made.catch(() => {
      forget();
      this.#window = Infinity;
    });
    const kept: Kept<C> = { dial, asking: 0, isShared: false };
    return kept;
  }
}

/** Questions that wait, in FIFO order, until their connection can accept another one. */
export class QuestionQueue {
  readonly #waiting = new Set<PromiseWithResolvers<void>>();

  get length(): number {
    return this.#waiting.size;
  }

  /**
   * Waits until `next` or `fail` reaches this question.
   * @throws {DialError} when `signal` aborts.
   */
  async wait(signal: AbortSignal): Promise<void> {
    const place = Promise.withResolvers<void>();
    this.#waiting.add(place);
    try {
      await unlessAborted(place.promise, signal, abortedDial);
    } catch (error) {
      // This question was resumed in the same turn: the next one replaces it.
      if (!this.#waiting.delete(place)) this.next();
      throw error;
    }
  }

  /** Resumes the question that has waited longest. */
  next(): void {
    const [first] = this.#waiting;
    if (!first) return;
    this.#waiting.delete(first);
    first.resolve();
  }

  /** Rejects all questions. */
  fail(error: Error): void {
    for (const { reject } of this.#waiting) reject(error);
    this.#waiting.clear();
  }
}

/** Milliseconds without any reply, while questions are pending, after which a connection is considered dead. */
const SILENCE_MS = 4000;
/** Milliseconds after which a connection without questions is closed (RFC 7858 §3.4). */
const IDLE_MS = 30_000;

/** Ends a kept connection that is dead or idle. One timer at a time. */
export class SilenceWatch {
  readonly #clock: Clock;
  readonly #end: (cause?: Error) => void;
  #timer: Timer | undefined;
  #waiting = 0;
  #heard = false;
  #stopped = false;

  constructor(clock: Clock, end: (cause?: Error) => void) {
    this.#clock = clock;
    this.#end = end;
    this.#rest();
  }

  /** Called when a question was sent. */
  asked(): void {
    if (++this.#waiting === 1) this.#watch();
  }

  /** Called when the server has replied to a question, at least in part. */
  heard(): void {
    this.#heard = true;
  }

  /** Called when a question was answered or abandoned. */
  settled(): void {
    if (--this.#waiting === 0) this.#rest();
  }

  /** Called when the connection has ended. */
  stop(): void {
    this.#stopped = true;
    this.#timer?.cancel();
  }

  /** Checks periodically, while questions are pending, whether a reply was received. */
  #watch(): void {
    this.#heard = false;
    this.#schedule(SILENCE_MS, () => {
      if (this.#heard) this.#watch();
      else this.#end(new DeadlineError('no answer'));
    });
  }

  #rest(): void {
    this.#schedule(IDLE_MS, () => this.#end());
  }

  #schedule(after: number, callback: () => void): void {
    this.#timer?.cancel();
    if (!this.#stopped) this.#timer = this.#clock.after(after, callback);
  }
}

export interface TlsConnectorOptions {
  /** The address that is dialled. */
  readonly server: Endpoint;
  /** The name sent as SNI unless it is an IP address (RFC 6066 §3), and always verified. */
  readonly serverName: string;
  /** Certificates trusted in addition to the system's. */
  readonly ca: CaSpec | undefined;
  readonly clock: Clock;
}

/** Opens TLS connections to one DNS server, which it verifies. */
export class TlsConnector {
  readonly #options: TlsConnectorOptions;
  readonly #alpn: readonly string[];
  #client: SecureClient | undefined;

  /**
   * Creates a connector.
   * @param alpn protocols offered; without any, no ALPN is sent.
   */
  constructor(options: TlsConnectorOptions, alpn: readonly string[]) {
    this.#options = options;
    this.#alpn = alpn;
  }

  /**
   * Connects.
   * @param onWire called with the byte counter of the connection, before the handshake.
   * @throws {DialError} when the server is not reached, or its certificate is invalid.
   */
  async connect(
    signal: AbortSignal,
    onWire?: (wire: WireCounter) => void,
  ): Promise<SecureConnection> {
    const { server, serverName, ca, clock } = this.#options;
    const spec = { serverName, allowInsecure: false, ca };
    const client = (this.#client ??= secureClient(spec, this.#alpn, clock));
    try {
      const below = await client.below.connect(server, { signal });
      onWire?.('wire' in below ? below.wire : below);
      return await client.secure(below, server, signal);
    } catch (error) {
      const isOfServer = error instanceof DialError && error.code === 'upstream';
      throw isOfServer ? toDialError(error.cause, server) : error;
    }
  }
}
