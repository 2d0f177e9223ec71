import { unmapIPv4 } from '@weir/io/addresses';
import type { ByteLink, Carrier } from '@weir/io/links';
import { type RandomSource, SystemRandomSource } from '@weir/base/random';
import type { Clock, Steps } from '@weir/io/time';
import { ProtocolError } from '@weir/io';
import { ReplayFilter } from '@weir/crypto/replay';
import type { Session } from '../../tracker/flow.ts';
import { carryStream, originOf, serveMux } from '../inbounds/serve-flows.ts';
import type { InboundContext, InboundHandler } from '../contract.ts';
import { logRejection, RejectedClientError } from '../inbounds/handshake.ts';
import type { AcceptedAccounts } from '../users/accounts.ts';
import { BodyLink, type BodyParts } from './body/body.ts';
import { requestKeys, responseKeys, responseSecrets } from './body/body-keys.ts';
import { BodyOpener, BodySealer } from './body/body-chunks.ts';
import { BodyDatagrams } from './body/body-datagrams.ts';
import { receiveRequest } from './header/request.ts';
import { Command, type RequestHeader } from './wire.ts';
import { sealResponse } from './header/response.ts';
import { DerivedUsers, KnownUsers } from '../users/known-users.ts';
import type { InboundMemory } from '../inbounds/inbound-memory.ts';
import { UserSearch, type WaitingClient } from '../users/user-search.ts';
import { AuthIdReader, userKey } from './header/header-seal.ts';

/** A VMess server with AEAD headers on accepted carriers. */
export class VmessInbound implements InboundHandler {
  readonly #context: InboundContext;
  readonly #random: RandomSource;
  readonly #users: VmessUsers;

  constructor(
    users: VmessUsers,
    context: InboundContext,
    random: RandomSource = new SystemRandomSource(),
  ) {
    this.#context = context;
    this.#random = random;
    this.#users = users;
  }

  get accounts(): AcceptedAccounts {
    return this.#users;
  }

  async serve({ link, remote }: Carrier, session: Session): Promise<void> {
    const { clock, dispatcher } = this.#context;
    const source = remote && unmapIPv4(remote.host);
    let credential = '';
    const header = await receiveRequest(
      link,
      clock,
      async (authId, signal) => {
        const user = await this.#users.identify(authId, source, { link, signal });
        credential = user.id;
        return user.key;
      },
      (error) => logRejection(error, this.#context, source),
    );
    const { request } = header;
    const user = { label: undefined, id: credential, credential };
    const origin = originOf(this.#context, source, session, user);
    const parts = this.#body(link, header);
    switch (request.command) {
      case Command.udp:
        await dispatcher.packets({ origin, client: new BodyDatagrams(parts, request.destination) });
        break;
      case Command.tcp:
        await carryStream(new BodyLink(parts), { ...request, origin }, this.#context);
        break;
      case Command.mux:
        await serveMux(new BodyLink(parts), origin, this.#context);
        break;
      default:
        request satisfies never;
    }
  }

  #body(carrier: ByteLink, header: RequestHeader): BodyParts {
    const secrets = responseSecrets(header);
    return {
      carrier,
      decoder: new BodyOpener(requestKeys(header)),
      sealer: new BodySealer(responseKeys(header, secrets), this.#random),
      preface: sealResponse(header, secrets),
    };
  }
}

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
