import { LinkClosedError } from '@weir/io';
import { Shares, sourceGroup } from '@weir/io/bounds';
import { UNAUTHENTICATED_LIMIT, UNAUTHENTICATED_PART, UNAUTHENTICATED_SHARE } from './limits.ts';

/** A client that can be disconnected. */
export interface Evictable {
  evict(cause: Error): void;
}

/** The entry of one client, removed when the client has authenticated or has disconnected. */
export class ClientPlace {
  readonly #places: Shares<ClientPlace, string>;
  #client: Evictable | undefined;

  /** @internal for UnauthenticatedClients */
  constructor(places: Shares<ClientPlace, string>, client: Evictable) {
    this.#places = places;
    this.#client = client;
  }

  /** Removes the client. Idempotent. */
  readonly leave = (): void => {
    this.#client = undefined;
    this.#places.delete(this);
  };

  /** @internal for UnauthenticatedClients */
  evict(): void {
    const client = this.#client;
    this.leave();
    client?.evict(new LinkClosedError('too many clients have not authenticated'));
  }
}

/**
 * Tracks the clients of all inbounds that have not authenticated: accepted connections, and tunnels of shared
 * connections. Beyond a limit the oldest client of the source with the most of them is disconnected, whether or not
 * that is the source of the new client: since authentication takes only a few round trips, a flood of silent clients
 * cannot prevent it.
 *
 * Every call takes constant time, however many clients and sources there are.
 */
export class UnauthenticatedClients {
  readonly #limit: number;
  readonly #share: number;
  readonly #places = new Shares<ClientPlace, string>();

  /**
   * @param limit limit of clients of all sources.
   * @param share limit of clients of one source.
   */
  constructor(limit = UNAUTHENTICATED_LIMIT, share = UNAUTHENTICATED_SHARE) {
    this.#limit = limit;
    this.#share = share;
  }

  /** Creates a tracker whose limits leave enough descriptors to a process with this many. */
  static within(descriptors: number): UnauthenticatedClients {
    const room = Math.max(1, Math.floor(descriptors * UNAUTHENTICATED_PART));
    const limit = Math.min(UNAUTHENTICATED_LIMIT, room);
    return new UnauthenticatedClients(limit, Math.min(UNAUTHENTICATED_SHARE, Math.ceil(room / 2)));
  }

  /** The limit of clients of all sources. */
  get limit(): number {
    return this.#limit;
  }

  get count(): number {
    return this.#places.size;
  }

  /**
   * Adds a client.
   *
   * @param address the client's address; `undefined` on a unix socket.
   * @param client evicted if room is needed, unless it has left.
   */
  enter(address: string | undefined, client: Evictable): ClientPlace {
    const places = this.#places;
    const source = sourceGroup(address);
    if (places.countOf(source) >= this.#share) places.oldestOf(source)?.evict();
    else if (places.size >= this.#limit) places.heaviest?.oldest.evict();
    const place = new ClientPlace(places, client);
    places.add(place, source);
    return place;
  }
}
