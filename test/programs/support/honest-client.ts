import assert from 'node:assert/strict';
import type { Socket } from 'node:net';
import { requestStatus, type RunningStatus } from '@weir/server/control';
import { disposable } from '../../support/data/address.ts';
import { roundTrip } from '../../support/read.ts';
import type { Weir } from '../../support/process/weir.ts';

/** Bytes of one exchange. */
const SIZE = 4096;
/** Resident bytes by which a Weir that is attacked may grow: its bounds, and garbage of the load that is not collected yet. */
const GROWTH_LIMIT = 192 << 20;
/** Milliseconds that its event loop is late at most: above it the handshakes of honest clients time out. */
const DELAY_LIMIT_MS = 10_000;

export interface Beside<T> {
  readonly result: T;
  /** Exchanges that the honest client completed meanwhile. */
  readonly exchanges: number;
  /** Resident bytes that were added. */
  readonly growth: number;
  readonly delayP99: number;
  readonly delayMax: number;
}

/**
 * Has an honest client exchange bytes with an echo server all along, while something else goes on; fails
 * unless each exchange is complete, and what Weir reports of itself is within bounds.
 *
 * @param connect opens a flow to the echo server through `weir`, which has a control socket.
 */
export async function besideHonestClient<T>(
  weir: Weir,
  connect: () => Promise<Socket>,
  attack: () => Promise<T>,
): Promise<Beside<T>> {
  // One flow before, so that what is loaded once is loaded; the first status begins to measure.
  using standing = disposable(await connect());
  await exchange(standing);
  const before = await requestStatus(weir.controlPath);
  let isOver = false;
  const attacking = attack().finally(() => {
    isOver = true;
  });
  // Its failure is that of the test, below, unless an exchange fails first.
  attacking.catch(() => undefined);
  let exchanges = 0;
  // At least once even if the attack is over at once.
  do {
    await exchange(standing);
    using fresh = disposable(await connect());
    await exchange(fresh);
    exchanges += 2;
  } while (!isOver);
  const result = await attacking;
  const after = await requestStatus(weir.controlPath);
  const growth = after.memory.resident - before.memory.resident;
  const { p99, max } = loopOf(after);
  assert.ok(growth < GROWTH_LIMIT, `${growth} bytes of memory were added`);
  assert.ok(max < DELAY_LIMIT_MS, `the event loop was ${max} ms late`);
  return { result, exchanges, growth, delayP99: p99, delayMax: max };
}

/** For a test's diagnostics. */
export const figuresOf = ({ exchanges, growth, delayP99, delayMax }: Beside<unknown>): string =>
  `${exchanges} honest exchanges, ${(growth / (1 << 20)).toFixed(1)} MiB more, ` +
  `event loop late by ${delayP99.toFixed(1)} ms (p99), ${delayMax.toFixed(1)} ms (max)`;

function loopOf(status: RunningStatus): NonNullable<RunningStatus['event_loop']> {
  assert.ok(status.event_loop, 'the second status measures the event loop');
  return status.event_loop;
}

async function exchange(socket: Socket): Promise<void> {
  const sent = Buffer.alloc(SIZE, 'honest');
  assert.deepEqual(await roundTrip(socket, sent), sent);
}
