import { asError } from '../errors.ts';
import type { Clock } from './clock.ts';
import { DeadlineError } from './errors.ts';
import { IdleTimer } from './idle-timer.ts';
import type { ByteLink } from './link.ts';
import { giveOrWrite } from './spent-chunk.ts';
import { HALF_CLOSED_IDLE_MS } from './time-limits.ts';

/** Counts the payload that a relay moves. */
export interface PayloadCounter {
  addUp(bytes: number): void;
  addDown(bytes: number): void;
}

/**
 * Moves bytes both ways between a client and its destination until both have ended.
 *
 * A half-close of one side is passed on and the other direction continues. A failure of either link
 * destroys both, so that no peer takes a truncated stream for a complete one. Resolves with the
 * failure, or with `undefined` after a clean end; never rejects. Both links are closed by then.
 */
export function relay(
  client: ByteLink,
  remote: ByteLink,
  counter: PayloadCounter,
  clock: Clock,
): Promise<Error | undefined> {
  return new Promise((resolve) => {
    new Relay(client, remote, clock, resolve).start(counter);
  });
}

/**
 * One relay. Most flows rest most of the time, and what they hold then is their price: no frame of
 * an async function waits here for the kernel to move the bytes, and what only a half-closed or
 * failed flow needs is made when it is.
 */
class Relay {
  readonly #client: ByteLink;
  readonly #remote: ByteLink;
  readonly #clock: Clock;
  readonly #over: (failure: Error | undefined) => void;
  #failure: Error | undefined;
  /** Directions that have not ended. */
  #open = 2;
  /** Runs while one direction has ended and the other has not. */
  #idle: IdleTimer | undefined;

  constructor(
    client: ByteLink,
    remote: ByteLink,
    clock: Clock,
    over: (failure: Error | undefined) => void,
  ) {
    this.#client = client;
    this.#remote = remote;
    this.#clock = clock;
    this.#over = over;
  }

  start(counter: PayloadCounter): void {
    const [client, remote] = [this.#client, this.#remote];
    const up = this.#move(client, remote, (bytes) => {
      this.#touch();
      counter.addUp(bytes);
    });
    const down = this.#move(remote, client, (bytes) => {
      this.#touch();
      counter.addDown(bytes);
    });
    // A link can fail without a pending read or write: after its end, or when the flow was killed.
    // What the kernel moves both ways fails with either link, and needs no watch of its own.
    if (up === 'poured' && down === 'poured') return;
    const watch = (cause: Error | undefined): void => {
      if (cause) this.#abort(cause);
    };
    void client.closed.then(watch);
    void remote.closed.then(watch);
  }

  /** Moves one direction, in the kernel where both links are its sockets, and passes on the end. */
  #move(from: ByteLink, to: ByteLink, moved: (bytes: number) => void): 'poured' | 'copied' {
    const poured = from.pourInto?.(to, moved);
    (poured ?? copy(from, to, () => this.#touch(), moved)).then(
      () => to.closeWrite().then(this.#ended, this.#abort),
      this.#abort,
    );
    return poured ? 'poured' : 'copied';
  }

  #touch(): void {
    this.#idle?.touch();
  }

  /** A direction has ended, and its end was passed on. */
  readonly #ended = (): void => {
    this.#open--;
    if (this.#open === 0) {
      this.#finish();
      return;
    }
    this.#idle = new IdleTimer(this.#clock, HALF_CLOSED_IDLE_MS, () =>
      this.#abort(new DeadlineError('half-closed and silent for 300 s')),
    );
    this.#idle.start();
  };

  readonly #abort = (error: unknown): void => {
    if (this.#failure || this.#open === 0) return;
    this.#failure = asError(error);
    this.#finish();
  };

  #finish(): void {
    this.#idle?.stop();
    // Nothing is queued after a clean end.
    this.#client.destroy(this.#failure);
    this.#remote.destroy(this.#failure);
    this.#over(this.#failure);
  }
}

/** Reads and writes chunks; back-pressure of `to` stops reading `from`. */
async function copy(
  from: ByteLink,
  to: ByteLink,
  touch: () => void,
  moved: (bytes: number) => void,
): Promise<void> {
  for (;;) {
    const chunk = await from.read();
    if (chunk === undefined) return;
    touch();
    const { length } = chunk;
    const full = giveOrWrite(to, chunk);
    if (full) {
      await full;
      // A peer that drains a chunk slowly is active until then.
      touch();
    }
    moved(length);
  }
}
