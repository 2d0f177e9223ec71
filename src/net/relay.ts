import type { Clock, Timer } from './clock.ts';
import { DeadlineError } from './errors.ts';
import type { ByteLink } from './link.ts';
import { giveTo } from './spent-chunk.ts';

/** Where a relay books the payload it moves. */
export interface PayloadCounter {
  addUp(bytes: number): void;
  addDown(bytes: number): void;
}

/** A flow of which one side has closed ends after this long without a byte in either direction. */
export const HALF_CLOSED_IDLE_MS = 300_000;

/**
 * Moves bytes both ways between a client and its destination until both have ended.
 *
 * A half-close of one side is passed on and the other direction goes on. A failure of either link
 * destroys both, so that no peer mistakes a cut stream for a complete one. Resolves with the
 * failure, or with `undefined` after a clean end; never rejects. Both links are closed by then.
 */
export async function relay(
  client: ByteLink,
  remote: ByteLink,
  counter: PayloadCounter,
  clock: Clock,
): Promise<Error | undefined> {
  let failure: Error | undefined;
  const abort = (error: unknown): void => {
    failure ??= error instanceof Error ? error : new Error(String(error));
    client.destroy(failure);
    remote.destroy(failure);
  };
  // A link can fail while nobody reads from it or writes to it: after its end, or when it was killed.
  const watch = (cause: Error | undefined): void => {
    if (cause) abort(cause);
  };
  void client.closed.then(watch);
  void remote.closed.then(watch);
  const idle = new HalfClosedIdle(clock, abort);
  const up = move(client, remote, (bytes) => {
    idle.touch();
    counter.addUp(bytes);
  });
  const down = move(remote, client, (bytes) => {
    idle.touch();
    counter.addDown(bytes);
  });
  const settle = (direction: Promise<void>): Promise<void> =>
    direction.then(() => idle.start(), abort);
  await Promise.all([settle(up), settle(down)]);
  idle.stop();
  // A clean end leaves nothing to lose; after a failure these are no-ops.
  client.destroy();
  remote.destroy();
  return failure;
}

/** One direction: the back-pressure of `to` is what holds `from` back. */
async function move(from: ByteLink, to: ByteLink, moved: (bytes: number) => void): Promise<void> {
  for (;;) {
    const chunk = await from.read();
    if (chunk === undefined) break;
    const { length } = chunk;
    const full = giveTo(to, chunk);
    if (full) await full;
    moved(length);
  }
  await to.closeWrite();
}

/** Watches a flow from its first half-close on. One timer a period, none a chunk. */
class HalfClosedIdle {
  readonly #clock: Clock;
  readonly #onIdle: (error: Error) => void;
  #timer: Timer | undefined;
  #active = false;

  constructor(clock: Clock, onIdle: (error: Error) => void) {
    this.#clock = clock;
    this.#onIdle = onIdle;
  }

  touch(): void {
    this.#active = true;
  }

  start(): void {
    if (this.#timer) return;
    let lastSeen = this.#clock.now();
    const check = (after: number): void => {
      this.#timer = this.#clock.after(after, () => {
        const now = this.#clock.now();
        if (this.#active) {
          // The byte came at some moment of the period; the limit runs from its end at the latest.
          this.#active = false;
          lastSeen = now;
        }
        const left = lastSeen + HALF_CLOSED_IDLE_MS - now;
        if (left <= 0) this.#onIdle(new DeadlineError('half-closed and silent for 300 s'));
        else check(left);
      });
    };
    this.#active = false;
    check(HALF_CLOSED_IDLE_MS);
  }

  stop(): void {
    this.#timer?.cancel();
  }
}
