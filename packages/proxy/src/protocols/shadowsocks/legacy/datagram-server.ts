import { type Clock, Deadline } from '@weir/io/time';
import { decodeAddressed, SOCKS_ADDRESS } from '@weir/io/addresses';
import type { Packet, ReplyPath } from '@weir/io/links';
import { costOfDatagram } from '@weir/io/bounds';
import type { DatagramServer, DatagramSessions } from '../../contract.ts';
import type { KnownUsers } from '../../users/known-users.ts';
import { UserSearch } from '../../users/user-search.ts';
import {
  AssociationTable,
  type DatagramServerDeps,
  type ResponseSealer,
} from '../client-associations.ts';
import { AddressMemo } from '../packets.ts';
import { type SaltFilter, saltsOf } from '../salts.ts';
import type { KeyedUser } from '../shadowsocks-users.ts';
import { LegacyDatagrams } from './datagrams.ts';

/** Total memory of waiting datagrams in bytes, including the overhead of each. */
const MOST_BYTES = 4 * 1024 * 1024;
/** Datagrams of one client that are queued behind the one whose user is searched for. */
const MOST_OF_CLIENT = 16;

/** A datagram and the reply path to its client. */
interface Arrived {
  readonly packet: Packet;
  readonly replyPath: ReplyPath;
}

/**
 * The datagrams of clients whose user is being searched for, in order of arrival. Datagrams without
 * room are dropped.
 */
export class WaitingDatagrams {
  readonly #byClient = new Map<string, Arrived[]>();
  #bytes = 0;

  /** Whether a search is in progress for that client. */
  has(client: string): boolean {
    return this.#byClient.has(client);
  }

  /**
   * Keeps a copy of a client's datagram, since its buffer may be reused; `undefined` without room. The search is for
   * the user of the client's first datagram.
   */
  add(client: string, { packet, replyPath }: Arrived): Arrived | undefined {
    const { data, peer } = packet;
    const waiting = this.#byClient.get(client) ?? [];
    const cost = costOfDatagram(data.length);
    if (waiting.length > MOST_OF_CLIENT || this.#bytes + cost > MOST_BYTES) return undefined;
    this.#bytes += cost;
    const kept = { packet: { data: Uint8Array.from(data), peer }, replyPath };
    waiting.push(kept);
    this.#byClient.set(client, waiting);
    return kept;
  }

  /** Ends the wait of a client. @returns its datagrams but the first. */
  release(client: string): readonly Arrived[] {
    const waiting = this.#byClient.get(client) ?? [];
    this.#byClient.delete(client);
    for (const { packet } of waiting) this.#bytes -= costOfDatagram(packet.data.length);
    return waiting.slice(1);
  }
}

/** Maximum number of concurrent searches for users. */
const MOST_SEARCHES = 256;
/** Time limit of a search: by then the sender has repeated the datagram or has given up. */
const SEARCH_MS = 5_000;

/** The datagram server of a SIP004 inbound: one association for each address and port of a client. */
export class LegacyDatagramServer implements DatagramServer {
  readonly #known: KnownUsers<KeyedUser>;
  readonly #search: UserSearch<KeyedUser>;
  readonly #clock: Clock;
  readonly #datagrams: LegacyDatagrams;
  readonly #salts: SaltFilter;
  /** Salts of responses: sent back to this server, these would be valid requests. */
  readonly #ownSalts: SaltFilter;
  readonly #associations: AssociationTable<undefined>;
  readonly #waiting = new WaitingDatagrams();
  #retired = false;

  constructor(deps: DatagramServerDeps, known: KnownUsers<KeyedUser>, sessions: DatagramSessions) {
    const { users, context, random } = deps;
    const { clock, memory } = context;
    this.#known = known;
    this.#search = new UserSearch(known, context, {
      limit: MOST_SEARCHES,
      budget: 'searches for the users of datagrams',
    });
    this.#clock = clock;
    this.#datagrams = new LegacyDatagrams(users.method, random);
    this.#salts = saltsOf(memory, 'datagrams');
    this.#ownSalts = saltsOf(memory, 'responses');
    this.#associations = new AssociationTable(deps, sessions, users.all.length);
  }

  receive(packet: Packet, replyPath: ReplyPath, known: boolean): boolean {
    const { data, peer } = packet;
    const client = `${peer.host} ${peer.port}`;
    const entry = this.#associations.find(client);
    if (known && !entry) return false;
    // Before any key is tried: a replay must neither cost a search, nor add its claimed source to the known sources of
    // the user.
    if (this.#isReplay(data)) return entry !== undefined;
    let plain: Uint8Array | undefined;
    const fits = (user: KeyedUser): boolean => {
      plain = this.#datagrams.open(user.key, data);
      return plain !== undefined;
    };
    let user = entry && fits(entry.user) ? entry.user : undefined;
    if (!user && known) return false;
    if (!user && this.#waiting.has(client)) {
      this.#waiting.add(client, { packet, replyPath });
      return false;
    }
    user ??= this.#search.immediately(peer.host, fits);
    if (user && plain) return this.#accept(client, user, plain, { packet, replyPath });
    if (this.#known.all.length > 1) void this.#findUser(client, { packet, replyPath });
    return false;
  }

  /** Discards the results of pending searches from now on. */
  retire(): void {
    this.#retired = true;
  }

  #isReplay(datagram: Uint8Array): boolean {
    const salt = this.#datagrams.saltOf(datagram);
    return this.#ownSalts.has(salt) || this.#salts.has(salt);
  }

  /**
   * Searches for the user of a datagram, in turns with all other clients; later datagrams of the
   * client wait for the result. Never rejects.
   */
  async #findUser(client: string, arrived: Arrived): Promise<void> {
    const kept = this.#waiting.add(client, arrived);
    if (!kept) return;
    const { data, peer } = kept.packet;
    let plain: Uint8Array | undefined;
    const fits = (user: KeyedUser): boolean => {
      plain = this.#datagrams.open(user.key, data);
      return plain !== undefined;
    };
    let user: KeyedUser | undefined;
    using deadline = new Deadline(this.#clock, SEARCH_MS, 'the search for the user of a datagram');
    try {
      const waiting = { link: kept.replyPath, signal: deadline.signal };
      user = await this.#search.search(peer.host, fits, waiting);
    } catch {
      // Too many searches, the time limit has passed, or the listener has failed: the datagram is dropped.
    }
    const later = this.#waiting.release(client);
    // Meanwhile the listener may have moved, or drains.
    if (this.#retired || !kept.replyPath.acceptsClients) return;
    if (user && plain) this.#accept(client, user, plain, kept);
    for (const { packet, replyPath } of later) this.receive(packet, replyPath, false);
  }

  /**
   * Delivers the content of a datagram of a user.
   * @returns whether the datagram belongs to an association.
   */
  #accept(
    client: string,
    user: KeyedUser,
    plain: Uint8Array,
    { packet, replyPath }: Arrived,
  ): boolean {
    const { data, peer } = packet;
    let entry = this.#associations.find(client);
    const content = decodeAddressed(plain, 0, SOCKS_ADDRESS);
    if (!content || !this.#salts.add(this.#datagrams.saltOf(data))) return entry !== undefined;
    if (!entry || entry.user !== user) {
      entry?.association.close();
      this.#known.remember(peer.host, user);
      entry = this.#associations.open(client, user, peer, this.#sealerFor(user), undefined);
    }
    entry.association.deliver(content, data.length, peer, replyPath);
    return true;
  }

  #sealerFor({ key }: KeyedUser): ResponseSealer {
    const memo = new AddressMemo();
    return {
      seal: ({ data, peer }) => {
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
