import type { Opener } from '../../crypto/aead.ts';
import type { Packet } from '../../net/link.ts';
import type { ReplyPath, DatagramServer, DatagramSessions, InboundContext } from '../contract.ts';
import type { KnownUsers } from '../known-users.ts';
import { SearchBudget } from '../search-budget.ts';
import { Associations, type Entry } from './associations.ts';
import { AddressMemo, decodeAddressed } from './datagram-codec.ts';
import { BlockCipher } from './keys.ts';
import { LegacyDatagrams } from './legacy-datagrams.ts';
import {
  hasSeparateHeader,
  LONG_NONCE,
  openBody,
  packetIdOf,
  readMessage,
  SESSION_HEADER,
  SESSION_ID,
  sessionOpener,
} from './packet-2022.ts';
import type { Randomness } from './randomness.ts';
import { saltsOf, type SaltFilter } from './salts.ts';
import { DatagramSealer, xor } from './seal-2022.ts';
import { SlidingWindow } from './sliding-window.ts';
import type { User, Users } from './users.ts';

export interface DatagramDeps {
  readonly users: Users;
  readonly context: InboundContext;
  readonly random: Randomness;
}

/** The datagrams of a SIP004 inbound: one association for each address and port of a client. */
export class LegacyDatagramServer implements DatagramServer {
  readonly #users: Users;
  readonly #known: KnownUsers<User>;
  readonly #datagrams: LegacyDatagrams;
  readonly #salts: SaltFilter;
  /** Of our own answers: sent back to us they would pass for a client's words. */
  readonly #ownSalts: SaltFilter;
  readonly #associations: Associations<undefined>;
  readonly #budget: SearchBudget;

  constructor(
    { users, context, random }: DatagramDeps,
    known: KnownUsers<User>,
    sessions: DatagramSessions,
  ) {
    this.#users = users;
    this.#known = known;
    this.#datagrams = new LegacyDatagrams(users.method, random);
    this.#salts = saltsOf(context.memory, 'datagrams');
    this.#ownSalts = saltsOf(context.memory, 'answers');
    this.#associations = new Associations(context, sessions, users.all.length);
    this.#budget = context.memory.recall(
      'searches for the users of datagrams',
      SearchBudget,
      () => new SearchBudget(context.clock),
    );
  }

  receive({ data, peer }: Packet, answers: ReplyPath, known: boolean): boolean {
    const key = `${peer.host} ${peer.port}`;
    let entry = this.#associations.find(key);
    if (known && !entry) return false;
    const salt = this.#datagrams.saltOf(data);
    // Before anybody's key is tried: what has been heard must neither cost a search, nor make the
    // source that it is said to come from one of the user's.
    if (this.#ownSalts.has(salt) || this.#salts.has(salt)) return entry !== undefined;
    let plain: Uint8Array | undefined;
    const fits = (user: User): boolean => {
      plain = this.#datagrams.open(user.key, data);
      return plain !== undefined;
    };
    let user = entry && fits(entry.user) ? entry.user : undefined;
    if (!user && known) return false;
    user ??= this.#find(peer.host, fits);
    if (!user || !plain) return false;
    const packet = decodeAddressed(plain);
    if (!packet || !this.#salts.add(salt)) return entry !== undefined;
    if (!entry || entry.user !== user) {
      entry?.association.close();
      this.#known.remember(peer.host, user);
      entry = this.#associations.begin(key, user, peer, this.#answerSealer(user), undefined);
    }
    entry.association.deliver(packet, data.length, peer, answers);
    return true;
  }

  /** A user that is not known by the source competes with all other clients for a search. */
  #find(source: string, fits: (user: User) => boolean): User | undefined {
    const search = (): User | undefined => this.#users.all.find(fits);
    return (
      this.#known.from(source, fits) ??
      (this.#users.all.length > 1 ? this.#budget.spend(search) : search())
    );
  }

  #answerSealer({ key }: User) {
    const memo = new AddressMemo();
    return {
      seal: ({ data, peer }: Packet): Uint8Array | undefined => {
        const address = memo.encode(peer);
        if (!address) return undefined;
        const datagram = this.#datagrams.seal(key, address, data);
        this.#ownSalts.add(this.#datagrams.saltOf(datagram));
        return datagram;
      },
      [Symbol.dispose]: () => undefined,
    };
  }
}

/** What is kept of a client's session. */
interface SessionState {
  readonly opener: Opener;
  readonly window: SlidingWindow;
}

/** A datagram that has told whose it is. */
interface Named {
  readonly user: User;
  /** Session and packet id. */
  readonly header: Buffer;
  /** Opens the rest with the opener of its session. */
  readonly open: (opener: Opener) => { readonly body: Buffer; readonly at: number } | undefined;
}

/** The datagrams of a SIP022 inbound: one association for each session of a client. */
export class DatagramServer2022 implements DatagramServer {
  readonly #deps: DatagramDeps;
  readonly #associations: Associations<SessionState>;
  readonly #cipher: BlockCipher | undefined;
  /** Where sessions have no key of their own, one opener serves them all. */
  readonly #shared: Opener | undefined;

  constructor(deps: DatagramDeps, sessions: DatagramSessions) {
    this.#deps = deps;
    this.#associations = new Associations(deps.context, sessions, deps.users.all.length);
    const { method, all, identityCipher } = deps.users;
    const [single] = all;
    if (!single) return; // an inbound has one user at least
    if (hasSeparateHeader(method)) this.#cipher = identityCipher ?? new BlockCipher(single.key);
    else this.#shared = sessionOpener(method, single.key, single.key);
  }

  receive({ data, peer }: Packet, answers: ReplyPath, known: boolean): boolean {
    const named = this.#cipher ? this.#readSeparate(this.#cipher, data) : this.#readMerged(data);
    if (!named) return false;
    const { header, user } = named;
    const key = `${user.index} ${header.toString('latin1', 0, SESSION_ID)}`;
    const entry = this.#associations.find(key);
    if (known && !entry) return false;
    const id = packetIdOf(header);
    const state = entry?.state ?? this.#newState(user, header);
    const packet =
      id !== undefined && state.window.isNew(id) ? this.#open(named, state) : undefined;
    if (id === undefined || !packet) {
      if (!entry) this.#forget(state);
      return entry !== undefined;
    }
    state.window.mark(id);
    const { association } = entry ?? this.#begin(key, named, peer, state);
    association.deliver(packet, data.length, peer, answers);
    return true;
  }

  #readSeparate(cipher: BlockCipher, data: Uint8Array): Named | undefined {
    const { users } = this.#deps;
    const at = users.identityCipher ? 2 * SESSION_HEADER : SESSION_HEADER;
    if (data.length < at) return undefined;
    const header = cipher.decrypt(data.subarray(0, SESSION_HEADER));
    const user = users.identityCipher
      ? users.identified(
          xor(users.identityCipher.decrypt(data.subarray(SESSION_HEADER, at)), header),
        )
      : users.all[0];
    if (!user) return undefined;
    const open = (opener: Opener) => {
      const body = openBody(opener, header.subarray(4), data.subarray(at));
      return body && { body, at: 0 };
    };
    return { user, header, open };
  }

  #readMerged(data: Uint8Array): Named | undefined {
    const [user] = this.#deps.users.all;
    if (!user || !this.#shared || data.length < LONG_NONCE) return undefined;
    const nonce = data.subarray(0, LONG_NONCE);
    const body = openBody(this.#shared, nonce, data.subarray(LONG_NONCE));
    if (!body || body.length < SESSION_HEADER) return undefined;
    return {
      user,
      header: body.subarray(0, SESSION_HEADER),
      open: () => ({ body, at: SESSION_HEADER }),
    };
  }

  #open({ open }: Named, { opener }: SessionState): Packet | undefined {
    const opened = open(opener);
    const wallMs = this.#deps.context.clock.wall();
    return opened && readMessage(opened.body, opened.at, { wallMs, clientSession: undefined });
  }

  #newState({ key }: User, header: Buffer): SessionState {
    const opener =
      this.#shared ?? sessionOpener(this.#deps.users.method, key, header.subarray(0, SESSION_ID));
    return { opener, window: new SlidingWindow() };
  }

  #begin(
    key: string,
    { user, header }: Named,
    peer: Packet['peer'],
    state: SessionState,
  ): Entry<SessionState> {
    const { users, context, random } = this.#deps;
    const session = Buffer.from(header.subarray(0, SESSION_ID));
    const deps = { method: users.method, clock: context.clock, random };
    const sealer = new DatagramSealer(deps, [user.key], session);
    const both = {
      seal: (packet: Packet) => sealer.seal(packet),
      [Symbol.dispose]: () => {
        sealer[Symbol.dispose]();
        this.#forget(state);
      },
    };
    return this.#associations.begin(key, user, peer, both, state);
  }

  #forget({ opener }: SessionState): void {
    if (opener !== this.#shared) opener[Symbol.dispose]();
  }
}
