import { unmapIPv4 } from '../../net/address.ts';
import { Deadline } from '../../net/deadline.ts';
import type { Carrier } from '../../net/link.ts';
import type { Session } from '../../tracker/session.ts';
import { carryStream } from '../carry-stream.ts';
import { KnownUsers } from '../known-users.ts';
import { tellOfRefusal } from '../refused-client.ts';
import { UserSearch } from '../user-search.ts';
import type {
  DatagramServer,
  DatagramSessions,
  InboundContext,
  InboundHandler,
} from '../contract.ts';
import { DatagramServer2022, LegacyDatagramServer } from './inbound-datagrams.ts';
import { LegacyOutgoing } from './legacy-stream.ts';
import { systemRandomness, type Randomness } from './randomness.ts';
import { readLegacyRequest, readRequest2022, type Request } from './request.ts';
import { SaltPool, saltsOf, type SaltFilter } from './salts.ts';
import type { ShadowsocksInboundSettings } from './settings.ts';
import { hangUp, ignore } from './silence.ts';
import { ShadowsocksLink, type Outgoing } from './stream-link.ts';
import { ResponseOutgoing } from './stream-2022.ts';
import { idOf, Users, type User } from './users.ts';

const HANDSHAKE_MS = 10_000;
/** How long a stranger of the 2022 edition is listened to after we have hung up. */
const STRANGER_MS = 30_000;

/** A Shadowsocks server of either edition on accepted carriers. */
export function createShadowsocksInbound(
  settings: ShadowsocksInboundSettings,
  context: InboundContext,
  random: Randomness = systemRandomness,
): InboundHandler {
  return new ShadowsocksInbound(settings, context, random);
}

class ShadowsocksInbound implements InboundHandler {
  readonly #context: InboundContext;
  readonly #random: Randomness;
  readonly #users: Users;
  readonly #known: KnownUsers<User>;
  readonly #search: UserSearch<User>;
  readonly #salts: SaltFilter;
  readonly #pool: SaltPool;

  constructor(settings: ShadowsocksInboundSettings, context: InboundContext, random: Randomness) {
    this.#context = context;
    this.#random = random;
    this.#users = new Users(settings, context.memory);
    this.#known = new KnownUsers(this.#users.all, idOf, context.memory);
    this.#search = new UserSearch(this.#known, context);
    this.#salts = saltsOf(context.memory, 'streams');
    this.#pool = context.memory.recall(
      'Shadowsocks 2022 salts',
      SaltPool,
      () => new SaltPool(context.clock),
    );
  }

  async serve({ link, remote }: Carrier, session: Session): Promise<void> {
    const source = remote && unmapIPv4(remote.host);
    const request = await this.#read(link, source);
    const { user, destination, payload, opener } = request;
    const stream = new ShadowsocksLink(link, this.#answer(request), opener);
    stream.unread(payload);
    const origin = { inbound: this.#context.tag, source, user: user.label, session };
    try {
      await carryStream(stream, { origin, destination }, this.#context);
    } finally {
      stream.destroy();
    }
  }

  serveDatagrams(sessions: DatagramSessions): DatagramServer {
    const deps = { users: this.#users, context: this.#context, random: this.#random };
    return this.#users.method.edition === 'legacy'
      ? new LegacyDatagramServer(deps, this.#known, sessions)
      : new DatagramServer2022(deps, sessions);
  }

  async #read(link: Carrier['link'], source: string | undefined): Promise<Request> {
    const { clock } = this.#context;
    const legacy = this.#users.method.edition === 'legacy';
    const began = clock.now();
    try {
      using deadline = new Deadline(clock, HANDSHAKE_MS, 'the Shadowsocks handshake');
      const reader = { link, signal: deadline.signal, users: this.#users };
      const trial = { known: this.#known, search: this.#search, source };
      return legacy
        ? await readLegacyRequest(reader, trial, this.#salts)
        : await readRequest2022(reader, this.#pool, clock);
    } catch (error) {
      tellOfRefusal(error, this.#context, source);
      // A legacy stranger sees what one sees who sends nothing: a reset when the time is over.
      if (legacy) await ignore(link, clock, Math.max(0, began + HANDSHAKE_MS - clock.now()));
      else await hangUp(link, clock, STRANGER_MS);
      throw error;
    }
  }

  #answer({ user, salt }: Request): Outgoing {
    const { method } = this.#users;
    if (method.edition === '2022') {
      const deps = { method, clock: this.#context.clock, random: this.#random };
      return new ResponseOutgoing(deps, user.key, salt);
    }
    const own = this.#random.bytes(method.keyLength);
    // Our own words, sent back to us, would pass for a client's: directions look the same.
    this.#salts.add(own);
    return new LegacyOutgoing(method, user.key, own);
  }
}
