import { type RandomSource, SystemRandomSource } from '@weir/base/random';
import { unmapIPv4 } from '@weir/io/addresses';
import { type Clock, Deadline, HANDSHAKE_MS } from '@weir/io/time';
import { ProtocolError } from '@weir/io';
import type { ByteLink, Carrier } from '@weir/io/links';
import type { Session } from '../../tracker/flow.ts';
import { carryStream, originOf } from '../inbounds/serve-flows.ts';
import type {
  DatagramServer,
  DatagramSessions,
  InboundContext,
  InboundHandler,
} from '../contract.ts';
import type { KnownUsers } from '../users/known-users.ts';
import { logRejection } from '../inbounds/handshake.ts';
import type { AcceptedAccounts } from '../users/accounts.ts';
import { UserSearch } from '../users/user-search.ts';
import { DatagramServer2022 } from './edition-2022/datagram-server.ts';
import { readRequest2022, ResponseStreamSealer } from './edition-2022/stream.ts';
import { LegacyDatagramServer } from './legacy/datagram-server.ts';
import { LegacyStreamSealer, readLegacyRequest } from './legacy/stream.ts';
import type { Request } from './request.ts';
import { type SaltFilter, SaltPool, saltsOf } from './salts.ts';
import { ShadowsocksLink, type StreamSealer } from './stream-link.ts';
import { type KeyedUser, scopeOf, type ShadowsocksUsers, userIdOf } from './shadowsocks-users.ts';

/** Milliseconds for which a rejected client of the 2022 edition is still read after this side's end of stream. */
const REJECTED_2022_MS = 30_000;

/** A Shadowsocks server of either edition on accepted carriers. */
export class ShadowsocksInbound implements InboundHandler, AcceptedAccounts {
  readonly #context: InboundContext;
  readonly #random: RandomSource;
  readonly #users: ShadowsocksUsers;
  readonly #known: KnownUsers<KeyedUser>;
  readonly #search: UserSearch<KeyedUser>;
  readonly #salts: SaltFilter;
  readonly #pool: SaltPool;
  readonly #scope: string;

  constructor(
    users: ShadowsocksUsers,
    context: InboundContext,
    random: RandomSource = new SystemRandomSource(),
  ) {
    this.#context = context;
    this.#random = random;
    this.#users = users;
    this.#scope = scopeOf(users);
    this.#known = users.known;
    this.#search = new UserSearch(this.#known, context);
    this.#salts = saltsOf(context.memory, 'streams');
    this.#pool = context.memory.recall(
      'Shadowsocks 2022 salts',
      SaltPool,
      () => new SaltPool(context.clock),
    );
  }

  get accounts(): AcceptedAccounts {
    return this;
  }

  accepts(credential: string): boolean {
    const scope = this.#scope;
    return credential.startsWith(scope) && this.#known.has(credential.slice(scope.length));
  }

  async serve({ link, remote }: Carrier, session: Session): Promise<void> {
    const source = remote && unmapIPv4(remote.host);
    const request = await this.#readRequest(link, source);
    const { user, destination, payload, opener } = request;
    const stream = new ShadowsocksLink(link, this.#responseSealer(request), opener);
    stream.unread(payload);
    const origin = originOf(this.#context, source, session, {
      label: user.label,
      credential: this.#credentialOf(user),
    });
    try {
      await carryStream(stream, { origin, destination }, this.#context);
    } finally {
      stream.destroy();
    }
  }

  serveDatagrams(sessions: DatagramSessions): DatagramServer {
    const deps = {
      users: this.#users,
      credentialOf: (user: KeyedUser) => this.#credentialOf(user),
      context: this.#context,
      random: this.#random,
    };
    return this.#users.method.edition === 'legacy'
      ? new LegacyDatagramServer(deps, this.#known, sessions)
      : new DatagramServer2022(deps, sessions);
  }

  #credentialOf(user: KeyedUser): string {
    return this.#scope + userIdOf(user);
  }

  async #readRequest(link: ByteLink, source: string | undefined): Promise<Request> {
    const { clock } = this.#context;
    const legacy = this.#users.method.edition === 'legacy';
    const startedAt = clock.now();
    try {
      using deadline = new Deadline(clock, HANDSHAKE_MS, 'the Shadowsocks handshake');
      const reader = { link, signal: deadline.signal, users: this.#users };
      const trial = { known: this.#known, search: this.#search, source };
      return legacy
        ? await readLegacyRequest(reader, trial, this.#salts)
        : await readRequest2022(reader, this.#pool, clock);
    } catch (error) {
      logRejection(error, this.#context, source);
      if (legacy) {
        // A reset at the time limit of the handshake, as for a client that sends nothing.
        await drainRejected(link, clock, Math.max(0, startedAt + HANDSHAKE_MS - clock.now()));
      } else {
        // SIP022 §3.1.3, the second option: an end of stream at once, and the client is still read.
        link.closeWrite().catch(() => undefined); // the client may have closed already
        await drainRejected(link, clock, REJECTED_2022_MS);
      }
      throw error;
    }
  }

  #responseSealer({ user, salt: requestSalt }: Request): StreamSealer {
    const { method } = this.#users;
    if (method.edition === '2022') {
      const deps = { method, clock: this.#context.clock, random: this.#random };
      return new ResponseStreamSealer(deps, user.key, requestSalt);
    }
    const salt = this.#random.bytes(method.keyLength);
    // Both directions have the same format: a response that is sent back to this server would be a
    // valid request.
    this.#salts.add(salt);
    return new LegacyStreamSealer(method, user.key, salt);
  }
}

/**
 * Reads and discards data of a rejected client until it closes or the time limit passes; then resets the connection,
 * whether or not bytes are unread. Nothing that a client can observe thus depends on how many of its bytes were valid.
 * Never rejects.
 */
async function drainRejected(link: ByteLink, clock: Clock, milliseconds: number): Promise<void> {
  using limit = new Deadline(clock, milliseconds, 'an unauthenticated client');
  try {
    if (milliseconds <= 0) throw new ProtocolError('the time for the handshake is over');
    while ((await link.read(limit.signal)) !== undefined);
    link.destroy();
  } catch {
    // The client did not close, or it closed with a reset.
    link.destroy(new ProtocolError('unauthenticated client'));
  }
}
