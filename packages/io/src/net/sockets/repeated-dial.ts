import { asError } from '@weir/base';
import {
  type Clock,
  DIAL_MS,
  SILENT_ATTEMPT_MS,
  type Timer,
  unlessAborted,
} from '../time/clock.ts';
import { DeadlineError } from '../errors.ts';
import { IdleTimer } from '../time/pace.ts';
import type { WireCounter } from '../links/link.ts';

/** Concurrent attempts of one dial: enough for each to have DIAL_MS before a new one replaces it. */
export const ATTEMPTS_AT_ONCE = DIAL_MS / SILENT_ATTEMPT_MS;

/**
 * Establishes one connection.
 * @param onWire called with the byte counter of each connection that it tries.
 */
type MakeAttempt<Made> = (
  signal: AbortSignal,
  onWire: (wire: WireCounter) => void,
) => Promise<Made>;

interface RepeatedDialOptions<Made> {
  readonly clock: Clock;
  readonly attempt: MakeAttempt<Made>;
  /** Releases a connection that was established too late. */
  readonly discard: (made: Made) => void;
  /** Aborts the dial. */
  readonly signal: AbortSignal;
  /** Milliseconds that a flow waits at most; DIAL_MS by default. */
  readonly limit?: number | undefined;
}

interface Attempt {
  readonly controller: AbortController;
  readonly wires: WireCounter[];
  /** Bytes that the attempt's wires had received at the last check. */
  received: number;
}

/**
 * A dial that several flows share. The server may be down when it begins, and QUIC and TCP would repeat their first
 * packet only after 1, 3 and 7 seconds, too late for a flow that joins when the server is up again. So while an attempt
 * receives nothing, further ones are started in parallel, until `limit` after the last flow has joined. The first
 * connection wins; an error that the server or the system reports ends the dial for all flows.
 */
export class RepeatedDial<Made> {
  /** The connection. Rejects with a DeadlineError at the limit, the reason of the signal or the error of an attempt. */
  readonly made: Promise<Made>;
  readonly #options: RepeatedDialOptions<Made>;
  readonly #attempts = new Set<Attempt>();
  readonly #limit: IdleTimer;
  readonly #result = Promise.withResolvers<Made>();
  #timer: Timer | undefined;
  #hasTried = false;
  #hasHeard = false;
  #isOver = false;

  constructor(options: RepeatedDialOptions<Made>) {
    this.#options = options;
    const { clock, signal, limit = DIAL_MS } = options;
    this.made = unlessAborted(this.#result.promise, signal).finally(() => this.#end());
    this.#limit = new IdleTimer(clock, limit, () =>
      this.#result.reject(new DeadlineError(`the connection took longer than ${limit / 1000} s`)),
    );
    this.#limit.start();
    this.#begin();
  }

  /** Whether connections were tried and no byte has been received. */
  get isSilent(): boolean {
    if (!this.#hasTried || this.#hasHeard) return false;
    for (const { wires } of this.#attempts) {
      if (wires.some(({ bytesRead }) => bytesRead > 0)) return false;
    }
    return true;
  }

  /** Adds a flow that waits for the connection, which restarts the time limit. */
  join(): void {
    this.#limit.touch();
  }

  #begin(): void {
    const attempt: Attempt = { controller: new AbortController(), wires: [], received: 0 };
    this.#attempts.add(attempt);
    void this.#run(attempt);
    this.#timer = this.#options.clock.after(SILENT_ATTEMPT_MS, this.#look);
  }

  async #run(attempt: Attempt): Promise<void> {
    const { signal } = attempt.controller;
    try {
      const made = await this.#options.attempt(signal, (wire) => {
        this.#hasTried = true;
        attempt.wires.push(wire);
      });
      if (this.#isOver || signal.aborted) this.#options.discard(made);
      else this.#win(attempt, made);
    } catch (error) {
      if (!signal.aborted) this.#result.reject(asError(error));
    }
  }

  #win(attempt: Attempt, made: Made): void {
    this.#attempts.delete(attempt);
    this.#result.resolve(made);
    this.#end();
  }

  /** Starts another attempt, unless one has received bytes since the last check. */
  readonly #look = (): void => {
    let hears = false;
    for (const attempt of this.#attempts) {
      const received = attempt.wires.reduce((sum, { bytesRead }) => sum + bytesRead, 0);
      if (received > attempt.received) hears = true;
      attempt.received = received;
    }
    if (hears) {
      this.#hasHeard = true;
      this.#timer = this.#options.clock.after(SILENT_ATTEMPT_MS, this.#look);
      return;
    }
    if (this.#attempts.size >= ATTEMPTS_AT_ONCE) {
      const [oldest] = this.#attempts;
      if (oldest) this.#abandon(oldest);
    }
    this.#begin();
  };

  #abandon(attempt: Attempt): void {
    this.#attempts.delete(attempt);
    attempt.controller.abort(new DeadlineError('the server does not respond'));
  }

  #end(): void {
    this.#isOver = true;
    this.#limit.stop();
    this.#timer?.cancel();
    this.#timer = undefined;
    this.#hasHeard ||= this.#hasTried && !this.isSilent;
    for (const attempt of this.#attempts) this.#abandon(attempt);
  }
}
