import { LinkClosedError } from '../net/errors.ts';
import { Shares } from '../net/bounds/shares.ts';
import { sourceGroup } from '../net/bounds/source-group.ts';
import { UNAUTHENTICATED_LIMIT, UNAUTHENTICATED_PART, UNAUTHENTICATED_SHARE } from './limits.ts';

/** A client that can be disconnected. */
export interface Evictable {
  evict(cause: Error): void;
}

/** The place of one client, which leaves when it has authenticated or is gone. */
export class ClientPlace {
  readonly #places: Shares<ClientPlace, string>;
  #client: Evictable | undefined;

  /** @internal for UnauthenticatedClients */
  constructor(places: Shares<ClientPlace, string>, client: Evictable) {
    this.#places = places;
    this.#client = client;
  }

  /** Idempotent. */
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
 * The clients of all inbounds that have not authenticated: connections from the moment when they are
 * accepted, and tunnels of connections that carry several. Beyond a limit the oldest client of the
 * source with the most of them is disconnected, be it the new one's own source or another's: to
 * authenticate takes a few round trips, whatever a flood of silent clients does.
 *
 * Every call takes constant time, however many clients and sources there are.
 */
export class UnauthenticatedClients {
  readonly #limit: number;
  readonly #share: number;
  readonly #places = new Shares<ClientPlace, string>();

  /**
   * @param limit clients of all sources.
   * @param share clients of one source.
   */
  constructor(limit = UNAUTHENTICATED_LIMIT, share = UNAUTHENTICATED_SHARE) {
    this.#limit = limit;
    this.#share = share;
  }

  /** Limits that leave a process with this many descriptors enough of them. */
  static within(descriptors: number): UnauthenticatedClients {
    const room = Math.max(1, Math.floor(descriptors * UNAUTHENTICATED_PART));
    const limit = Math.min(UNAUTHENTICATED_LIMIT, room);
    return new UnauthenticatedClients(limit, Math.min(UNAUTHENTICATED_SHARE, Math.ceil(room / 2)));
  }

  /** The most clients of all sources. */
  get limit(): number {
    return this.#limit;
  }

  get count(): number {
    return this.#places.size;
  }

  /**
   * Counts a client.
   *
   * @param address of the client; `undefined` on a unix socket.
   * @param client is disconnected when it has to make room, not once it has left.
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
