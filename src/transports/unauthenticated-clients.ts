import { LinkClosedError } from '../net/errors.ts';
import { sourceGroup } from '../net/bounds/source-group.ts';
import { UNAUTHENTICATED_LIMIT, UNAUTHENTICATED_PART, UNAUTHENTICATED_SHARE } from './limits.ts';

interface Linked<Item> {
  previous: Item | undefined;
  next: Item | undefined;
}

/** Items in their order, each of which can be removed at once. */
class Chain<Item extends Linked<Item>> {
  first: Item | undefined;
  #last: Item | undefined;

  append(item: Item): void {
    item.previous = this.#last;
    item.next = undefined;
    if (this.#last) this.#last.next = item;
    else this.first = item;
    this.#last = item;
  }

  remove(item: Item): void {
    if (item.previous) item.previous.next = item.next;
    else this.first = item.next;
    if (item.next) item.next.previous = item.previous;
    else this.#last = item.previous;
    item.previous = undefined;
    item.next = undefined;
  }
}

/** One source with its clients, the oldest first. */
class Source implements Linked<Source> {
  readonly key: string;
  readonly places = new Chain<ClientPlace>();
  count = 0;
  previous: Source | undefined;
  next: Source | undefined;

  constructor(key: string) {
    this.key = key;
  }
}

/** A client that can be disconnected. */
export interface Evictable {
  evict(cause: Error): void;
}

/** The place of one client, which leaves when it has authenticated or is gone. */
export class ClientPlace implements Linked<ClientPlace> {
  previous: ClientPlace | undefined;
  next: ClientPlace | undefined;
  #source: Source | undefined;
  #client: Evictable | undefined;
  readonly #clients: UnauthenticatedClients;

  /** @internal of UnauthenticatedClients */
  constructor(clients: UnauthenticatedClients, source: Source, client: Evictable) {
    this.#clients = clients;
    this.#source = source;
    this.#client = client;
  }

  /** Idempotent. */
  readonly leave = (): void => {
    const source = this.#source;
    this.#source = undefined;
    this.#client = undefined;
    if (source) this.#clients.left(this, source);
  };

  /** @internal of UnauthenticatedClients */
  evict(): void {
    const client = this.#client;
    this.leave();
    client?.evict(new LinkClosedError('too many clients have not authenticated'));
  }
}

/**
 * The clients of all inbounds that have not authenticated: connections from the moment when they are
 * accepted, and tunnels of connections that carry several. Beyond a limit the oldest client of the
 * source with the most of them is disconnected, be it the new one's own source or another's: one that
 * authenticates takes a few round trips, whatever a flood of silent ones does.
 *
 * Every call takes the same time, however many clients and sources there are.
 */
export class UnauthenticatedClients {
  readonly #limit: number;
  readonly #share: number;
  readonly #sources = new Map<string, Source>();
  /** Sources by how many clients they have; those of one number in the order in which they reached it. */
  readonly #byCount: Chain<Source>[] = [];
  /** No source has more clients. */
  #most = 0;
  #count = 0;

  /**
   * @param limit clients of all sources.
   * @param share clients of one source.
   */
  constructor(limit = UNAUTHENTICATED_LIMIT, share = UNAUTHENTICATED_SHARE) {
    this.#limit = limit;
    this.#share = share;
  }

  /** As many as a process with so many descriptors has room for. */
  static within(descriptors: number): UnauthenticatedClients {
    const room = Math.max(1, Math.floor(descriptors * UNAUTHENTICATED_PART));
    const limit = Math.min(UNAUTHENTICATED_LIMIT, room);
    return new UnauthenticatedClients(limit, Math.min(UNAUTHENTICATED_SHARE, Math.ceil(room / 2)));
  }

  get count(): number {
    return this.#count;
  }

  /**
   * Counts a client.
   *
   * @param address of the client; `undefined` on a unix socket.
   * @param client is disconnected when it has to make room, not once it has left.
   */
  enter(address: string | undefined, client: Evictable): ClientPlace {
    const key = sourceGroup(address);
    let source = this.#sources.get(key);
    if (source && source.count >= this.#share) source.places.first?.evict();
    else if (this.#count >= this.#limit) this.#largest()?.places.first?.evict();
    // It may have been removed with its last client.
    source = this.#sources.get(key);
    if (!source) {
      source = new Source(key);
      this.#sources.set(key, source);
    }
    const place = new ClientPlace(this, source, client);
    source.places.append(place);
    this.#count++;
    this.#recount(source, 1);
    return place;
  }

  /** @internal of ClientPlace */
  left(place: ClientPlace, source: Source): void {
    source.places.remove(place);
    this.#count--;
    this.#recount(source, -1);
    if (source.count === 0) this.#sources.delete(source.key);
  }

  #recount(source: Source, change: number): void {
    if (source.count > 0) this.#ofCount(source.count).remove(source);
    source.count += change;
    if (source.count > 0) this.#ofCount(source.count).append(source);
    this.#most = Math.max(this.#most, source.count);
  }

  #largest(): Source | undefined {
    // Each client that came has raised it by 1 at most.
    while (this.#most > 0 && !this.#ofCount(this.#most).first) this.#most--;
    return this.#ofCount(this.#most).first;
  }

  #ofCount(count: number): Chain<Source> {
    return (this.#byCount[count] ??= new Chain());
  }
}
