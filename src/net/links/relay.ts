import { asError } from '../../errors.ts';
import type { Clock } from '../time/clock.ts';
import { DeadlineError } from '../errors.ts';
import { IdleTimer } from '../time/idle-timer.ts';
import { turnToEnd } from './ended-flows.ts';
import { OWNED, type ByteLink } from './link.ts';
import { HALF_CLOSED_IDLE_MS } from '../time/time-limits.ts';

/** Counts the payload that a relay moves. */
export interface PayloadCounter {
  addUp(bytes: number): void;
  addDown(bytes: number): void;
}

export type RelaySide = 'client' | 'remote';

/** How a relay ended. */
export interface RelayEnd {
  /** `undefined` after a clean end of both directions. */
  readonly failure: Error | undefined;
  /** The side whose end of stream or failure came first; `undefined` where that is not known. */
  readonly first: RelaySide | undefined;
  /** The side whose link has failed; `undefined` where none has, or that is not known. */
  readonly failed: RelaySide | undefined;
}

/**
 * Moves bytes both ways between a client and its destination until both have ended.
 *
 * A half-close of one side is passed on and the other direction continues. A failure of either link
 * destroys both, so that no peer takes a truncated stream for a complete one. Never rejects. Both
 * links are destroyed when it resolves; their `closed` may follow.
 *
 * @param firstDown a read of `remote` that is pending, or that has settled and was not used.
 */
export function relay(
  client: ByteLink,
  remote: ByteLink,
  counter: PayloadCounter,
  clock: Clock,
  firstDown?: Promise<Uint8Array | undefined>,
): Promise<RelayEnd> {
  return new Promise((resolve) => {
    new Relay(client, remote, clock, resolve).start(counter, firstDown);
  });
}

/**
 * One relay. Most flows are idle most of the time, so their memory while idle is what counts: no frame
 * of an async function is kept while the kernel moves the bytes, and what only a half-closed or failed
 * flow needs is made then.
 */
class Relay {
  readonly #client: ByteLink;
  readonly #remote: ByteLink;
  readonly #clock: Clock;
  readonly #over: (end: RelayEnd) => void;
  #failure: Error | undefined;
  #first: RelaySide | undefined;
  #failed: RelaySide | undefined;
  /** Directions that have not ended. */
  #open = 2;
  #isOver = false;
  /** Runs while one direction has ended and the other has not. */
  #idle: IdleTimer | undefined;

  constructor(client: ByteLink, remote: ByteLink, clock: Clock, over: (end: RelayEnd) => void) {
    this.#client = client;
    this.#remote = remote;
    this.#clock = clock;
    this.#over = over;
  }

  start(counter: PayloadCounter, firstDown: Promise<Uint8Array | undefined> | undefined): void {
    const [client, remote] = [this.#client, this.#remote];
    const up = this.#move(client, remote, (bytes) => {
      this.#touch();
      counter.addUp(bytes);
    });
    const countDown = (bytes: number): void => {
      this.#touch();
      counter.addDown(bytes);
    };
    const down = this.#move(remote, client, countDown, firstDown);
    // A link can fail without a pending read or write: after its end, or when the flow was killed.
    // A transfer in the kernel fails with either link, so two of them need no further watch.
    if (up === 'poured' && down === 'poured') return;
    const watch = (link: ByteLink): void => {
      void link.closed.then((cause) => {
        if (cause) this.#abort(cause, link);
      });
    };
    watch(client);
    watch(remote);
  }

  /** Moves one direction, in the kernel where both links are its sockets, and passes on the end. */
  #move(
    from: ByteLink,
    to: ByteLink,
    moved: (bytes: number) => void,
    first?: Promise<Uint8Array | undefined>,
  ): 'poured' | 'copied' {
    const poured = first ? undefined : from.pourInto?.(to, moved);
    const end = (): void => {
      this.#first ??= this.#sideOf(from);
      to.closeWrite().then(this.#ended, (error: unknown) => this.#abort(error, to));
    };
    if (poured) {
      poured.then(end, this.#pourFailed);
      return 'poured';
    }
    copy(from, to, () => this.#touch(), moved, first).then(end, (error: unknown) => {
      if (error instanceof WriteError) this.#abort(error.cause, to);
      else this.#abort(error, from);
    });
    return 'copied';
  }

  #sideOf(link: ByteLink): RelaySide {
    return link === this.#client ? 'client' : 'remote';
  }

  /** One of the links has failed: the one that is closed at this moment. */
  readonly #pourFailed = async (cause: unknown): Promise<void> => {
    let closed: ByteLink | undefined;
    for (const link of [this.#remote, this.#client]) {
      void link.closed.then(() => (closed ??= link));
    }
    // Callbacks of a promise that has resolved already run before this one continues.
    await Promise.resolve();
    this.#abort(cause, closed);
  };

  #touch(): void {
    this.#idle?.touch();
  }

  /** A direction has ended, and its end was passed on. */
  readonly #ended = (): void => {
    // The end of one direction may be passed on after the other one has failed.
    if (this.#isOver) return;
    this.#open--;
    if (this.#open === 0) {
      this.#finish();
      return;
    }
    this.#idle = new IdleTimer(this.#clock, HALF_CLOSED_IDLE_MS, () =>
      this.#abort(
        new DeadlineError(`half-closed and silent for ${HALF_CLOSED_IDLE_MS / 1000} s`),
        undefined,
      ),
    );
    this.#idle.start();
  };

  #abort(failure: unknown, link: ByteLink | undefined): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#failure = asError(failure);
    this.#failed = link && this.#sideOf(link);
    this.#first ??= this.#failed;
    // A carrier that fails has the links of thousands of flows.
    const turn = turnToEnd();
    if (turn) void turn.then(() => this.#finish());
    else this.#finish();
  }

  #finish(): void {
    this.#isOver = true;
    this.#idle?.stop();
    // Nothing is queued after a clean end.
    this.#client.destroy(this.#failure);
    this.#remote.destroy(this.#failure);
    this.#over({ failure: this.#failure, first: this.#first, failed: this.#failed });
  }
}

/** The failure of the link that is written to; its cause is the error of the link. */
class WriteError extends Error {
  constructor(cause: unknown) {
    super('a write has failed', { cause });
  }
}

/**
 * Reads and writes chunks; back-pressure of `to` stops reading `from`.
 * @throws {WriteError} for a failure of `to`; what `from` rejects with is passed on.
 */
async function copy(
  from: ByteLink,
  to: ByteLink,
  touch: () => void,
  moved: (bytes: number) => void,
  first: Promise<Uint8Array | undefined> | undefined,
): Promise<void> {
  for (let pending = first; ; pending = undefined) {
    const chunk = await (pending ?? from.read());
    if (chunk === undefined) return;
    touch();
    const { length } = chunk;
    try {
      const full = to.write(chunk, OWNED);
      if (full) {
        await full;
        // The flow is active until a slow peer has drained the chunk.
        touch();
      }
    } catch (error) {
      throw new WriteError(error);
    }
    moved(length);
  }
}
