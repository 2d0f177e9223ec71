import type { Clock, Steps } from '@weir/io/time';
import { ProtocolError } from '@weir/io';
import type { InboundContext } from '../contract.ts';
import { DerivedUsers, KnownUsers } from '../users/known-users.ts';
import type { InboundMemory } from '../inbounds/inbound-memory.ts';
import { RejectedClientError } from '../inbounds/rejected-client.ts';
import type { AcceptedAccounts } from '../users/standing.ts';
import { UserSearch, type WaitingClient } from '../users/user-search.ts';
import { AuthIdReader, userKey } from './header/auth-id.ts';
import { ReplayFilter } from '@weir/crypto/replay';

/** Seconds by which a client's clock may differ. */
const CLOCK_SKEW = 120;

/** Remembers auth ids for the width of the window: one from the future is valid for that long. */
const REFUSALS = {
  seen: 'the VMess request was sent before',
  forgotten: 'the clock was set back: the VMess request may have been sent before',
  full: 'too many VMess requests to remember',
} as const;

/**
 * Returns the replay filter of auth ids. It remembers each a second longer than it is valid: none is both forgotten and
 * valid, unless the clock is set back.
 */
const authIdFilter = (clock: Clock): ReplayFilter =>
  new ReplayFilter(clock, (2 * CLOCK_SKEW + 1) * 1000);

/** A user's UUID and the keys derived from it. */
export interface UserKeys {
  readonly id: string;
  readonly key: Uint8Array;
  readonly reader: AuthIdReader;
}

/** Returns the users by their ids, which are UUIDs as `parseUuid` returns them. */
const vmessUsers = (memory: InboundMemory): DerivedUsers<UserKeys> =>
  memory.recall('VMess users', DerivedUsers<UserKeys>, () => new DerivedUsers(deriveUser));

function deriveUser(id: string): UserKeys {
  const key = userKey(id);
  return { id, key, reader: new AuthIdReader(key) };
}

/**
 * Finds the user of a request by its auth id, which is accepted once and only while it is valid.
 */
export class VmessUsers implements AcceptedAccounts {
  readonly #known: KnownUsers<UserKeys>;
  readonly #search: UserSearch<UserKeys>;
  readonly #clock: Clock;
  readonly #seen: ReplayFilter;

  private constructor(
    known: KnownUsers<UserKeys>,
    context: Pick<InboundContext, 'clock' | 'memory'>,
  ) {
    const { clock, memory } = context;
    this.#known = known;
    this.#search = new UserSearch(this.#known, context);
    this.#clock = clock;
    this.#seen = memory.recall('VMess auth ids', ReplayFilter, () => authIdFilter(clock));
  }

  /** @param users users with UUIDs as `parseUuid` returns them; repeated ones count once. */
  static *of(
    users: readonly { readonly id: string }[],
    context: Pick<InboundContext, 'clock' | 'memory'>,
  ): Steps<VmessUsers> {
    const ids = new Set<string>();
    for (const { id } of users) {
      ids.add(id);
      yield;
    }
    const derived = yield* vmessUsers(context.memory).take(ids);
    const known = yield* KnownUsers.of(derived, ({ id }) => id, context.memory);
    return new VmessUsers(known, context);
  }

  accepts(id: string): boolean {
    return this.#known.has(id);
  }

  /**
   * Finds the user that created an auth id. No failure reveals how long the search took: all end at the time limit of
   * the request.
   *
   * @param source the client's address; `undefined` for a unix socket.
   * @throws {ProtocolError} when no user created it, its time is outside the window or it was used before.
   * @throws when the client has closed, or at the time limit.
   */
  async identify(
    authId: Uint8Array,
    source: string | undefined,
    client: WaitingClient,
  ): Promise<UserKeys> {
    let seconds: bigint | undefined;
    const fits = ({ reader }: UserKeys): boolean => (seconds = reader.read(authId)) !== undefined;
    const user = await this.#search.find(source, fits, client);
    if (!user || seconds === undefined) {
      throw new RejectedClientError('no user here made this VMess request');
    }
    const skew = seconds - BigInt(Math.floor(this.#clock.wall() / 1000));
    if (skew > CLOCK_SKEW || skew < -CLOCK_SKEW) {
      throw new ProtocolError(`the clock of the VMess client is off by ${skew} s`);
    }
    const verdict = this.#seen.check(authId, Number(seconds));
    if (verdict === 'new') {
      this.#known.remember(source, user);
      return user;
    }
    throw new ProtocolError(REFUSALS[verdict]);
  }
}
