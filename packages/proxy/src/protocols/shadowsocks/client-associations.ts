import { type Endpoint, unmapIPv4 } from '@weir/io/addresses';
import { type Clock, UDP_IDLE_MS } from '@weir/io/time';
import { IdleTimer } from '@weir/io/pace';
import {
  onClosed,
  type Packet,
  type PacketLink,
  ClosablePackets,
  type ReplyPath,
  type WireCounter,
} from '@weir/io/links';
import { LRUCache } from 'lru-cache';
import type { RandomSource } from '@weir/base/random';
import type { DatagramSessions, InboundContext } from '../contract.ts';
import { originOf } from '../inbounds/serve-flows.ts';
import type { KeyedUser, ShadowsocksUsers } from './shadowsocks-users.ts';

/** Seals responses as datagrams for one client. */
export interface ResponseSealer extends Disposable {
  /** Seals a response; `undefined` when the peer's host does not fit. */
  seal(packet: Packet): Uint8Array | undefined;
}

/** The association of one client of an inbound, as the dispatcher sees it. */
export class ClientAssociation extends ClosablePackets implements PacketLink {
  readonly #idle: IdleTimer;
  readonly #sealer: ResponseSealer;
  readonly #counts = { bytesRead: 0, bytesWritten: 0 };
  #client: Endpoint;
  #replyPath: ReplyPath | undefined;
  #releasePath: (() => void) | undefined;
  #ended = false;

  /** @param client the destination of responses, until a datagram has another source. */
  constructor(client: Endpoint, sealer: ResponseSealer, clock: Clock) {
    super();
    this.#client = client;
    this.#sealer = sealer;
    this.#idle = new IdleTimer(clock, UDP_IDLE_MS, () => this.close());
    this.#idle.start();
  }

  /** Counts the bytes of the client's datagrams. */
  get wire(): WireCounter {
    return this.#counts;
  }

  /** Time at which the association last sent or received a datagram, on the clock. */
  get lastActive(): number {
    return this.#idle.lastActive;
  }

  /**
   * Takes the packet of a datagram of `size` bytes; responses are sent to its source from now on.
   */
  deliver(packet: Packet, size: number, client: Endpoint, replyPath: ReplyPath): void {
    if (this.#ended) return;
    this.#idle.touch();
    this.#counts.bytesRead += size;
    if (client.host !== this.#client.host || client.port !== this.#client.port) {
      this.#client = client;
    }
    if (replyPath !== this.#replyPath) this.#replyBy(replyPath);
    this.queue.push(packet);
  }

  send(packet: Packet): void {
    const data = this.#ended ? undefined : this.#sealer.seal(packet);
    if (!data || !this.#replyPath) {
      this.refused++;
      return;
    }
    this.#idle.touch();
    this.#counts.bytesWritten += data.length;
    this.#replyPath.send({ data, peer: this.#client });
  }

  close(cause?: Error): void {
    if (this.#ended) return;
    this.#ended = true;
    this.#idle.stop();
    this.#releasePath?.();
    this.queue.end(cause);
    this.#sealer[Symbol.dispose]();
    this.resolveClosed(cause);
  }

  /** Responds through a path from now on, and closes the association with it. */
  #replyBy(replyPath: ReplyPath): void {
    this.#releasePath?.();
    this.#replyPath = replyPath;
    const forget = onClosed(replyPath.closed, () => this.close());
    const release = replyPath.hold();
    const releasePath = (): void => {
      forget();
      release();
    };
    this.#releasePath = releasePath;
  }
}

/** Dependencies of the datagram server of either edition. */
export interface DatagramServerDeps {
  readonly users: ShadowsocksUsers;
  /** Returns the server's record of the user's key. */
  readonly credentialOf: (user: KeyedUser) => string;
  readonly context: InboundContext;
  readonly random: RandomSource;
}

/** Associations of one inbound; beyond this number the least recently used one is closed. */
const MOST_ASSOCIATIONS = 4096;
/**
 * Associations of one user among many; few users have equal shares instead. Beyond this number the user's own longest
 * idle one is closed, so that no user can close those of others by opening more.
 */
const MOST_OF_USER = 256;

/** One association with the state of its edition. */
export interface AssociationEntry<State> {
  readonly association: ClientAssociation;
  readonly user: KeyedUser;
  readonly state: State;
}

/**
 * The live associations of an inbound by a key of their edition, bounded in number and idle time.
 */
export class AssociationTable<State> {
  readonly #deps: Pick<DatagramServerDeps, 'context' | 'credentialOf'>;
  readonly #sessions: DatagramSessions;
  readonly #entries: LRUCache<string, AssociationEntry<State>>;
  readonly #byUser = new Map<KeyedUser, Set<ClientAssociation>>();
  readonly #limitOfUser: number;

  /** @param users the number of users who share the associations. */
  constructor(
    deps: Pick<DatagramServerDeps, 'context' | 'credentialOf'>,
    sessions: DatagramSessions,
    users: number,
    limit = MOST_ASSOCIATIONS,
  ) {
    this.#deps = deps;
    this.#sessions = sessions;
    this.#limitOfUser = Math.max(MOST_OF_USER, Math.floor(limit / users));
    this.#entries = new LRUCache({
      max: limit,
      dispose: ({ association }) => association.close(),
    });
  }

  /** Returns the association of a key, which becomes the most recently used one. */
  find(key: string): AssociationEntry<State> | undefined {
    return this.#entries.get(key);
  }

  /** Opens an association and passes it to the dispatcher. */
  open(
    key: string,
    user: KeyedUser,
    client: Endpoint,
    sealer: ResponseSealer,
    state: State,
  ): AssociationEntry<State> {
    const { context, credentialOf } = this.#deps;
    const { clock, dispatcher } = context;
    const remove = (): void => {
      own.delete(association);
      if (own.size === 0) this.#byUser.delete(user);
      if (this.#entries.peek(key) === entry) this.#entries.delete(key);
    };
    // Sealer and state are released with the association, which must not be found afterwards.
    const owned: ResponseSealer = {
      seal: (packet) => sealer.seal(packet),
      [Symbol.dispose]: () => {
        remove();
        sealer[Symbol.dispose]();
      },
    };
    const association = new ClientAssociation(client, owned, clock);
    const own = this.#makeRoom(user);
    own.add(association);
    const source = unmapIPv4(client.host);
    const opened = this.#sessions.open({
      remote: client,
      local: undefined,
      wire: association.wire,
      destroy: (cause) => association.close(cause),
    });
    const entry = { association, user, state };
    this.#entries.set(key, entry);
    const { label } = user;
    const credential = credentialOf(user);
    const origin = originOf(context, source, opened.session, { label, credential });
    void dispatcher.packets({ origin, client: association }).finally(() => {
      association.close();
      opened.close();
    });
    return entry;
  }

  /** Returns the live associations of a user; closes one when there is no room for another. */
  #makeRoom(user: KeyedUser): Set<ClientAssociation> {
    const before = this.#byUser.get(user);
    if (before && before.size >= this.#limitOfUser) longestIdle(before)?.close();
    const own = this.#byUser.get(user) ?? new Set();
    this.#byUser.set(user, own);
    return own;
  }
}

function longestIdle(associations: Iterable<ClientAssociation>): ClientAssociation | undefined {
  let oldest: ClientAssociation | undefined;
  for (const association of associations) {
    if (!oldest || association.lastActive < oldest.lastActive) oldest = association;
  }
  return oldest;
}
