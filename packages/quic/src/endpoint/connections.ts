import { readInt32 } from '@weir/base/bytes';
import { isIPv4Endpoint, type IpEndpoint } from '@weir/base/ip';
import { Shares } from '@weir/io/bounds';
import {
  MAX_UNAUTHENTICATED,
  MAX_UNAUTHENTICATED_OF_SOURCE,
  UNAUTHENTICATED_STAY,
  MAX_CLOSING_CONNECTIONS,
  MAX_RESET_CANDIDATES,
  LOCAL_ID_SIZE,
} from '../limits.ts';
import type { RandomSource } from '@weir/base/random';
import type { Clock } from '@weir/io/time';
import { ConnectionDriver, type ConnectionCore, type ConnectionHost } from './connection-driver.ts';
import type { Driver } from './driver.ts';
import type { IdIssuer } from '../connection/quic-core.ts';
import type { QuicHandlers } from '../contract.ts';
import type { ResetTokens } from '../protection/tokens.ts';
import { TransportErrorCode } from '../errors.ts';
import type { Occupancy } from './client-admission.ts';

interface IssuedId<Owner> {
  readonly owner: Owner;
  /** The second half of the connection id. */
  readonly rest: number;
}

/**
 * The connections by destination connection id: ids issued by this endpoint, and those that clients have chosen for
 * their first packets (RFC 9000 §7.2). A look-up of an issued id allocates nothing. Its size is bounded by the ids that
 * the connections issue.
 */
export class ConnectionTable<Owner> {
  readonly #random: RandomSource;
  /**
   * Entries by the first half of the id, a 32-bit integer, which is unique: an id whose first half is in use is drawn
   * again. Peers have no influence on the ids and cannot cause collisions.
   */
  readonly #issued = new Map<number, IssuedId<Owner>>();
  readonly #chosen = new Map<string, Owner>();

  constructor(random: RandomSource) {
    this.#random = random;
  }

  /** The number of ids of both kinds. */
  get size(): number {
    return this.#issued.size + this.#chosen.size;
  }

  /** Issues a new id of `LOCAL_ID_SIZE` bytes for `owner`. */
  issue(owner: Owner): Uint8Array {
    for (;;) {
      const id = this.#random.bytes(LOCAL_ID_SIZE);
      const key = id.readInt32BE(0);
      if (this.#issued.has(key)) continue;
      this.#issued.set(key, { owner, rest: id.readInt32BE(4) });
      return id;
    }
  }

  /** Forgets an issued id. */
  release(id: Uint8Array): void {
    if (id.length !== LOCAL_ID_SIZE) return;
    const key = readInt32(id, 0);
    if (this.#issued.get(key)?.rest === readInt32(id, 4)) this.#issued.delete(key);
  }

  /** Returns the owner of the issued id at `offset`, which has `LOCAL_ID_SIZE` bytes. */
  find(bytes: Uint8Array, offset: number): Owner | undefined {
    const entry = this.#issued.get(readInt32(bytes, offset));
    return entry !== undefined && entry.rest === readInt32(bytes, offset + 4)
      ? entry.owner
      : undefined;
  }

  /** Adds an id that a client has chosen. @returns the key for `releaseChosen`. */
  addChosen(bytes: Uint8Array, offset: number, size: number, owner: Owner): string {
    const key = textOf(bytes, offset, size);
    this.#chosen.set(key, owner);
    return key;
  }

  findChosen(bytes: Uint8Array, offset: number, size: number): Owner | undefined {
    return this.#chosen.size === 0 ? undefined : this.#chosen.get(textOf(bytes, offset, size));
  }

  releaseChosen(key: string, owner: Owner): void {
    if (this.#chosen.get(key) === owner) this.#chosen.delete(key);
  }
}

/** Returns a key of at most 20 characters, one per byte. */
function textOf(bytes: Uint8Array, offset: number, size: number): string {
  let text = '';
  for (let at = offset; at < offset + size; at++) text += String.fromCharCode(bytes[at] as number);
  return text;
}

/** Connections by the address of their peer, each once. */
class PeerIndex {
  readonly #byKey = new Map<number, ConnectionDriver[]>();

  add(item: ConnectionDriver): void {
    item.peerKey = keyOf(item.peer);
    const known = this.#byKey.get(item.peerKey);
    if (known) known.push(item);
    else this.#byKey.set(item.peerKey, [item]);
  }

  remove(item: ConnectionDriver): void {
    const known = this.#byKey.get(item.peerKey);
    const at = known?.indexOf(item) ?? -1;
    if (known === undefined || at < 0) return;
    if (known.length === 1) this.#byKey.delete(item.peerKey);
    else known.splice(at, 1);
  }

  /** Returns the items with this peer, and possibly some of another one. */
  candidates(peer: IpEndpoint): readonly ConnectionDriver[] {
    return this.#byKey.get(keyOf(peer)) ?? [];
  }
}

/** Returns a 32-bit hash of an address and a port. */
const keyOf = ({ a, b, c, d, port }: IpEndpoint): number =>
  Math.imul(a ^ Math.imul(b, 0x85eb_ca6b) ^ c, 0xc2b2_ae35) ^ d ^ Math.imul(port, 0x9e37_79b1);

/**
 * The clients whose handshake is not complete or that have not authenticated themselves. When there are too many, a new
 * one replaces the oldest one of the source with the most, so that no source excludes the others. A client of a source
 * with as many as the new one's is replaced only after `UNAUTHENTICATED_STAY`.
 */
class UnauthenticatedClients {
  readonly #shares = new Shares<ConnectionDriver, string>();
  /** Time at which each client appeared, in milliseconds. */
  readonly #since = new Map<ConnectionDriver, number>();

  get count(): number {
    return this.#since.size;
  }

  add(client: ConnectionDriver, peer: IpEndpoint, now: number): void {
    this.#shares.add(client, sourceOf(peer));
    this.#since.set(client, now);
  }

  /** Removes a client that has authenticated itself, or has ended. Idempotent. */
  delete(client: ConnectionDriver): void {
    if (this.#since.delete(client)) this.#shares.delete(client);
  }

  /** Whether a new client from this address must replace another one. */
  isFullFor(peer: IpEndpoint): boolean {
    return (
      this.count >= MAX_UNAUTHENTICATED ||
      this.#shares.countOf(sourceOf(peer)) >= MAX_UNAUTHENTICATED_OF_SOURCE
    );
  }

  /**
   * Returns the client that a new one from this address replaces; `undefined` when there is none. A source with the
   * most clients replaces its own, so that it displaces none of others.
   */
  victimOf(peer: IpEndpoint, now: number): ConnectionDriver | undefined {
    const source = sourceOf(peer);
    const own = this.#shares.countOf(source);
    const { most } = this.#shares;
    const isHeaviest = own >= MAX_UNAUTHENTICATED_OF_SOURCE || own >= most;
    const oldest = isHeaviest ? this.#shares.oldestOf(source) : this.#shares.heaviest?.oldest;
    if (oldest === undefined) return undefined;
    if (!isHeaviest && most > own + 1) return oldest;
    const since = this.#since.get(oldest) ?? now;
    return now - since >= UNAUTHENTICATED_STAY ? oldest : undefined;
  }
}

/**
 * Returns the source of an address: the IPv4 address, or the /64 prefix of an IPv6 one, which is assigned to one host.
 */
const sourceOf = (peer: IpEndpoint): string =>
  isIPv4Endpoint(peer) ? `${peer.d}` : `${peer.a} ${peer.b}`;

/** The origin of a new connection, and its callbacks. */
interface ConnectionOrigin {
  /** Called when the handshake is complete. Must not throw. */
  readonly start: (connection: ConnectionDriver) => QuicHandlers;
  readonly onToken?: ((token: Uint8Array) => void) | undefined;
  /** The client's part; `undefined` for connections that this endpoint has dialled. */
  readonly client?:
    | {
        readonly isValidated: boolean;
        /** Whether the client still has to authenticate itself after the handshake. */
        readonly authenticates: boolean;
      }
    | undefined;
}

interface Entry extends ConnectionOrigin {
  readonly ids: Set<Uint8Array>;
  isHandshaking: boolean;
  /** The key of the id that the client has chosen, while packets may carry it. */
  chosenKey: string | undefined;
}

/**
 * The connections of an endpoint, from their first packet until they are drained: look-up by connection id
 * and by the peer's address, and the number of each kind.
 */
export class Connections implements ConnectionHost {
  readonly #clock: Clock;
  readonly #loop: Driver;
  readonly #resetTokens: ResetTokens;
  /** The connections by the ids by which packets are routed. */
  readonly table: ConnectionTable<ConnectionDriver>;
  readonly #byPeer = new PeerIndex();
  readonly #entries = new Map<ConnectionDriver, Entry>();
  /** Connections that have ended and still respond to late packets; the oldest first. */
  readonly #ended = new Set<ConnectionDriver>();
  readonly #unauthenticated = new UnauthenticatedClients();
  #clients = 0;
  #unvalidatedHandshakes = 0;

  constructor(clock: Clock, loop: Driver, random: RandomSource, resetTokens: ResetTokens) {
    this.#clock = clock;
    this.#loop = loop;
    this.#resetTokens = resetTokens;
    this.table = new ConnectionTable(random);
  }

  /** Number of all connections, including those in the closing or draining state. */
  get size(): number {
    return this.#entries.size;
  }

  /** Number of connections that have not ended. */
  get live(): number {
    return this.#entries.size - this.#ended.size;
  }

  /** Returns the occupancy as seen by a new client from this address. */
  occupancyFor(peer: IpEndpoint, now: number): Occupancy {
    return {
      connections: this.#clients,
      unvalidatedHandshakes: this.#unvalidatedHandshakes,
      isCrowded: this.#unauthenticated.isFullFor(peer),
      hasVictim: this.#unauthenticated.victimOf(peer, now) !== undefined,
    };
  }

  /** Ends an unauthenticated client if a new one from this address has to replace it. */
  makeRoom(peer: IpEndpoint, maxConnections: number, now: number): void {
    const unauthenticated = this.#unauthenticated;
    if (this.#clients < maxConnections && !unauthenticated.isFullFor(peer)) return;
    const victim = unauthenticated.victimOf(peer, now);
    if (victim === undefined) return;
    const isHandshaking = this.#entries.get(victim)?.isHandshaking === true;
    const { CONNECTION_REFUSED, NO_ERROR } = TransportErrorCode;
    victim.closeTransport(isHandshaking ? CONNECTION_REFUSED : NO_ERROR);
  }

  all(): ConnectionDriver[] {
    return [...this.#entries.keys()];
  }

  /**
   * Adds a connection.
   * @throws the error of `create`, after the ids were released.
   */
  add(origin: ConnectionOrigin, create: (ids: IdIssuer) => ConnectionCore): ConnectionDriver {
    const ids = new Set<Uint8Array>();
    const entry: Entry = { ...origin, ids, isHandshaking: true, chosenKey: undefined };
    try {
      const connection = new ConnectionDriver(this, this.#loop, this.#clock, (owner) =>
        create({
          issue: () => {
            const id = this.table.issue(owner);
            ids.add(id);
            return { id, resetToken: this.#resetTokens.tokenFor(id) };
          },
          release: (id) => {
            this.table.release(id);
            for (const own of ids) if (Buffer.compare(own, id) === 0) ids.delete(own);
          },
        }),
      );
      this.#entries.set(connection, entry);
      this.#byPeer.add(connection);
      if (entry.client) {
        this.#clients++;
        this.#unauthenticated.add(connection, connection.peer, this.#clock.now());
      }
      if (isUnvalidated(entry)) this.#unvalidatedHandshakes++;
      return connection;
    } catch (error) {
      for (const id of ids) this.table.release(id);
      throw error;
    }
  }

  /** Routes the packets of the id that a client has chosen, until its handshake is confirmed. */
  addChosenId(connection: ConnectionDriver, bytes: Uint8Array, at: number, size: number): void {
    const entry = this.#entries.get(connection);
    if (entry) entry.chosenKey = this.table.addChosen(bytes, at, size, connection);
  }

  /** Returns the connection for which this datagram is a stateless reset by the peer (RFC 9000 §10.3.1). */
  findByReset(
    bytes: Uint8Array,
    offset: number,
    length: number,
    peer: IpEndpoint,
  ): ConnectionDriver | undefined {
    const candidates = this.#byPeer.candidates(peer);
    const count = Math.min(candidates.length, MAX_RESET_CANDIDATES);
    for (let i = 0; i < count; i++) {
      const candidate = candidates[i];
      if (candidate?.core.isStatelessReset(bytes, offset, length) === true) return candidate;
    }
    return undefined;
  }

  // ---- events of connections ----

  onEstablished(connection: ConnectionDriver): QuicHandlers | undefined {
    const entry = this.#entries.get(connection);
    if (!entry) return undefined;
    if (isUnvalidated(entry)) this.#unvalidatedHandshakes--;
    entry.isHandshaking = false;
    if (entry.client?.authenticates !== true) this.#unauthenticated.delete(connection);
    return entry.start(connection);
  }

  onAuthenticated(connection: ConnectionDriver): void {
    this.#unauthenticated.delete(connection);
  }

  onConfirmed(connection: ConnectionDriver): void {
    this.#releaseChosen(connection, this.#entries.get(connection));
  }

  onMigrated(connection: ConnectionDriver): void {
    this.#byPeer.remove(connection);
    this.#byPeer.add(connection);
  }

  onToken(connection: ConnectionDriver, token: Uint8Array): void {
    this.#entries.get(connection)?.onToken?.(token);
  }

  onClosed(connection: ConnectionDriver): void {
    const entry = this.#entries.get(connection);
    if (!entry) return;
    if (entry.client) this.#clients--;
    this.#unauthenticated.delete(connection);
    this.#ended.add(connection);
    if (this.#ended.size <= MAX_CLOSING_CONNECTIONS) return;
    for (const oldest of this.#ended) {
      oldest.abandon();
      break;
    }
  }

  onDrained(connection: ConnectionDriver): void {
    const entry = this.#entries.get(connection);
    if (!entry) return;
    // Not before: packets with forged addresses whose handshakes fail at once would all get a connection.
    if (isUnvalidated(entry)) this.#unvalidatedHandshakes--;
    this.#releaseChosen(connection, entry);
    for (const id of entry.ids) this.table.release(id);
    this.#byPeer.remove(connection);
    this.#ended.delete(connection);
    this.#entries.delete(connection);
    this.#loop.remove(connection);
  }

  #releaseChosen(connection: ConnectionDriver, entry: Entry | undefined): void {
    if (entry?.chosenKey === undefined) return;
    this.table.releaseChosen(entry.chosenKey, connection);
    entry.chosenKey = undefined;
  }
}

/** Whether it is a client whose handshake is not complete, and whose address was not validated by a token. */
const isUnvalidated = ({ client, isHandshaking }: Entry): boolean =>
  isHandshaking && client?.isValidated === false;
