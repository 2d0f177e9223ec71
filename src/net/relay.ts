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
export async function relay(
  client: ByteLink,
  remote: ByteLink,
  counter: PayloadCounter,
  clock: Clock,
): Promise<Error | undefined> {
  let failure: Error | undefined;
  const abort = (error: unknown): void => {
    failure ??= asError(error);
    client.destroy(failure);
    remote.destroy(failure);
  };
  // A link can fail without a pending read or write: after its end, or when the flow was killed.
  const watch = (cause: Error | undefined): void => {
    if (cause) abort(cause);
  };
  void client.closed.then(watch);
  void remote.closed.then(watch);
  const idle = new IdleTimer(clock, HALF_CLOSED_IDLE_MS, () =>
    abort(new DeadlineError('half-closed and silent for 300 s')),
  );
  const up = move(client, remote, idle, (bytes) => counter.addUp(bytes));
  const down = move(remote, client, idle, (bytes) => counter.addDown(bytes));
  const settle = (direction: Promise<void>): Promise<void> =>
    direction.then(() => idle.start(), abort);
  await Promise.all([settle(up), settle(down)]);
  idle.stop();
  // Nothing is queued after a clean end; after a failure these are no-ops.
  client.destroy();
  remote.destroy();
  return failure;
}

/** Moves one direction, in the kernel where both links are its sockets, and passes on the end. */
async function move(
  from: ByteLink,
  to: ByteLink,
  idle: IdleTimer,
  moved: (bytes: number) => void,
): Promise<void> {
  const poured = from.pourInto?.(to, (bytes) => {
    idle.touch();
    moved(bytes);
  });
  await (poured ?? copy(from, to, idle, moved));
  await to.closeWrite();
}

/** Reads and writes chunks; back-pressure of `to` stops reading `from`. */
async function copy(
  from: ByteLink,
  to: ByteLink,
  idle: IdleTimer,
  moved: (bytes: number) => void,
): Promise<void> {
  for (;;) {
    const chunk = await from.read();
    if (chunk === undefined) return;
    idle.touch();
    const { length } = chunk;
    const full = giveOrWrite(to, chunk);
    if (full) {
      await full;
      // A peer that drains a chunk slowly is active until then.
      idle.touch();
    }
    moved(length);
  }
}
