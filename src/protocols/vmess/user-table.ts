import type { Clock } from '../../net/clock.ts';
import { ProtocolError } from '../../net/errors.ts';
import { RefusedClientError } from '../refused-client.ts';
import { AuthIdReader, userKey } from './auth-id.ts';
import { ReplayFilter } from '../../crypto/replay-filter.ts';

/** How far a client's clock may be off, in seconds. */
export const CLOCK_SKEW = 120;

/** Remembers auth ids: one of the future counts for as long as the window is wide. */
export const authIdFilter = (clock: Clock): ReplayFilter =>
  new ReplayFilter(clock, 2 * CLOCK_SKEW * 1000);

interface User {
  readonly key: Uint8Array;
  readonly reader: AuthIdReader;
}

/** Finds out who sent a request, once for each auth id and within the time that it counts. */
export class UserTable {
  readonly #users: readonly User[];
  readonly #clock: Clock;
  readonly #seen: ReplayFilter;

  /**
   * @param ids UUIDs as `parseUuid` gives them.
   * @param seen auth ids that were used, by whomever.
   */
  constructor(ids: Iterable<string>, clock: Clock, seen = authIdFilter(clock)) {
    this.#users = Array.from(new Set(ids), userKey).map((key) => ({
      key,
      reader: new AuthIdReader(key),
    }));
    this.#clock = clock;
    this.#seen = seen;
  }

  /**
   * The key of the user who made an auth id.
   * @throws {ProtocolError} when nobody did, its time is off or it was used before.
   */
  identify(authId: Uint8Array): Uint8Array {
    let found: { readonly key: Uint8Array; readonly seconds: bigint } | undefined;
    // All users are tried whoever it is: how long it takes tells nothing.
    for (const { key, reader } of this.#users) {
      const seconds = reader.read(authId);
      if (seconds !== undefined) found ??= { key, seconds };
    }
    if (!found) throw new RefusedClientError('no user here made this VMess request');
    const skew = found.seconds - BigInt(Math.floor(this.#clock.wall() / 1000));
    if (skew > CLOCK_SKEW || skew < -CLOCK_SKEW) {
      throw new ProtocolError(`the clock of the VMess client is off by ${skew} s`);
    }
    const verdict = this.#seen.check(authId);
    if (verdict === 'new') return found.key;
    throw new ProtocolError(
      verdict === 'seen'
        ? 'the VMess request was sent before'
        : 'too many VMess requests to remember',
    );
  }
}
