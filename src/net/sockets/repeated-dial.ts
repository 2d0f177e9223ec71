import { asError } from '../../errors.ts';
import type { Clock, Timer } from '../time/clock.ts';
import { DeadlineError } from '../errors.ts';
import { IdleTimer } from '../time/idle-timer.ts';
import type { WireCounter } from '../links/link.ts';
import { DIAL_MS, SILENT_ATTEMPT_MS } from '../time/time-limits.ts';
import { unlessAborted } from '../time/unless-aborted.ts';

/** Attempts of one dial that are under way at once: so each has DIAL_MS before the oldest ends for another. */
export const ATTEMPTS_AT_ONCE = DIAL_MS / SILENT_ATTEMPT_MS;

/**
 * Makes one connection.
 * @param onWire called with what counts the bytes of each connection that it tries.
 */
export type MakeAttempt<Made> = (
  signal: AbortSignal,
  onWire: (wire: WireCounter) => void,
) => Promise<Made>;

export interface RepeatedDialOptions<Made> {
  readonly clock: Clock;
  readonly attempt: MakeAttempt<Made>;
  /** Releases a connection that was made too late. */
  readonly discard: (made: Made) => void;
  /** Ends the dial. */
  readonly signal: AbortSignal;
  /** Milliseconds that a flow may wait; DIAL_MS when left out. */
  readonly limit?: number | undefined;
}

interface Attempt {
  readonly controller: AbortController;
  readonly wires: WireCounter[];
  /** What its wires had received when it was looked at last. */
  received: number;
}

/**
 * A dial that flows share. A server may be down when it begins, and QUIC and TCP would send their first packet
 * again after 1, 3 and 7 seconds: too seldom for a flow that joins when the server is back. So another attempt is
 * made beside one that hears nothing, with packets of its own, for as long as a flow may be waiting: `limit`
 * from the last one that has joined. The first connection wins; an error that a server or the system
 * reports ends the dial for all.
 */
export class RepeatedDial<Made> {
  /** @throws {DeadlineError} when nothing has come in time; the reason of the signal; the error of an attempt. */
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

  /** Whether connections were tried, and no packet has come back. */
  get isSilent(): boolean {
    if (!this.#hasTried || this.#hasHeard) return false;
    for (const { wires } of this.#attempts) {
      if (wires.some(({ bytesRead }) => bytesRead > 0)) return false;
    }
    return true;
  }

  /** Another flow waits for the connection, and has its own time. */
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

  /** Begins another attempt, unless one has received something since the last look. */
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
