import { ChurnMap } from '@weir/base/collections';
import { ipVersion, parseIPv6, unmapIPv4 } from '../addresses/addresses.ts';
import { LinkClosedError } from '../errors.ts';

/** An item in the list of its holder. */
interface Entry<Item, Holder> {
  readonly item: Item;
  readonly share: Share<Item, Holder>;
  older: Entry<Item, Holder> | undefined;
  newer: Entry<Item, Holder> | undefined;
}

/** The items of one holder, oldest first, and its place among the holders of equally many. */
interface Share<Item, Holder> {
  readonly holder: Holder;
  size: number;
  oldest: Entry<Item, Holder> | undefined;
  newest: Entry<Item, Holder> | undefined;
  earlier: Share<Item, Holder> | undefined;
  later: Share<Item, Holder> | undefined;
}

/** The holders of equally many items, in the order in which they reached that number. */
interface Rank<Item, Holder> {
  first: Share<Item, Holder> | undefined;
  last: Share<Item, Holder> | undefined;
}

/** Ranks that are never released. */
const SPARE_RANKS = 16;

/**
 * Counts the items of a shared resource by holder: when it is exhausted, the holder of the most loses
 * its oldest item. Every operation takes constant time, however many items and holders there are.
 * @typeParam Holder a primitive value.
 */
export class Shares<Item, Holder> {
  readonly #entries = new ChurnMap<Item, Entry<Item, Holder>>();
  readonly #shares = new ChurnMap<Holder, Share<Item, Holder>>();
  /** Ranks by size, empty above `most`; they are kept while sizes change by little. */
  readonly #ranks: Rank<Item, Holder>[] = [];
  #most = 0;

  /** Number of items of all holders. */
  get size(): number {
    return this.#entries.size;
  }

  /** Whether a holder has the item. */
  has(item: Item): boolean {
    return this.#entries.has(item);
  }

  /** The items of all holders, in the order in which they were added. */
  items(): Iterable<Item> {
    return this.#entries.keys();
  }

  /** Returns the number of items of one holder. */
  countOf(holder: Holder): number {
    return this.#shares.get(holder)?.size ?? 0;
  }

  /** Number of items of the holder that has the most. */
  get most(): number {
    return this.#most;
  }

  /** The holder that has the most items, with its oldest and newest one; of several, the first to reach that number. */
  get heaviest():
    | { readonly holder: Holder; readonly oldest: Item; readonly newest: Item }
    | undefined {
    const share = this.#ranks[this.#most]?.first;
    if (share?.oldest === undefined || share.newest === undefined) return undefined;
    return { holder: share.holder, oldest: share.oldest.item, newest: share.newest.item };
  }

  /** Returns the oldest item of a holder. */
  oldestOf(holder: Holder): Item | undefined {
    return this.#shares.get(holder)?.oldest?.item;
  }

  /** Adds an item that no holder has, as the newest one of its holder. */
  add(item: Item, holder: Holder): void {
    let share = this.#shares.get(holder);
    if (share === undefined) {
      share = {
        holder,
        size: 0,
        oldest: undefined,
        newest: undefined,
        earlier: undefined,
        later: undefined,
      };
      this.#shares.set(holder, share);
    }
    const entry: Entry<Item, Holder> = { item, share, older: undefined, newer: undefined };
    append(share, entry);
    this.#entries.set(item, entry);
    this.#resize(share, share.size + 1);
  }

  /** Makes an item the newest one of its holder. */
  renew(item: Item): void {
    const entry = this.#entries.get(item);
    if (entry === undefined) return;
    unlink(entry);
    append(entry.share, entry);
  }

  /** Removes an item. @returns the holder that had the item, if any. */
  delete(item: Item): Holder | undefined {
    const entry = this.#entries.get(item);
    if (entry === undefined) return undefined;
    const { share } = entry;
    unlink(entry);
    this.#entries.delete(item);
    this.#resize(share, share.size - 1);
    if (share.size === 0) this.#shares.delete(share.holder);
    return share.holder;
  }

  /** Moves a holder to the rank of its new size, one above or below. */
  #resize(share: Share<Item, Holder>, size: number): void {
    const ranks = this.#ranks;
    if (share.size > 0) this.#leaveRank(share);
    share.size = size;
    if (size > this.#most) this.#most = size;
    // The holder that has left the highest rank is now the first of the next one.
    else if (ranks[this.#most]?.first === undefined) {
      this.#most = size;
      if (ranks.length > SPARE_RANKS + 2 * size) ranks.length = size + 1;
    }
    if (size === 0) return;
    while (ranks.length <= size) ranks.push({ first: undefined, last: undefined });
    const rank = ranks[size] as Rank<Item, Holder>; // created above
    const { last } = rank;
    share.earlier = last;
    if (last === undefined) rank.first = share;
    else last.later = share;
    rank.last = share;
  }

  #leaveRank(share: Share<Item, Holder>): void {
    const rank = this.#ranks[share.size];
    if (rank === undefined) return;
    const { earlier, later } = share;
    if (earlier === undefined) rank.first = later;
    else earlier.later = later;
    if (later === undefined) rank.last = earlier;
    else later.earlier = earlier;
    share.earlier = share.later = undefined;
  }
}

function append<Item, Holder>(share: Share<Item, Holder>, entry: Entry<Item, Holder>): void {
  entry.older = share.newest;
  entry.newer = undefined;
  if (share.newest === undefined) share.oldest = entry;
  else share.newest.newer = entry;
  share.newest = entry;
}

function unlink<Item, Holder>(entry: Entry<Item, Holder>): void {
  const { share, older, newer } = entry;
  if (older === undefined) share.oldest = newer;
  else older.newer = newer;
  if (newer === undefined) share.newest = older;
  else newer.older = older;
  // An entry in the old generation must not keep its neighbours: see `ChurnMap`.
  entry.older = entry.newer = undefined;
}

/** Bytes of the network in an IPv6 address; a host may use all addresses of that network (RFC 4291 §2.5.4). */
const PREFIX = 8;

/**
 * Returns the key of one source of clients: an IPv4 address, or an IPv6 network of 64 bits, since one
 * client can use any address in it. All clients of a unix socket are one source.
 * @param source an IP address; `undefined` for a unix socket.
 */
export function sourceGroup(source: string | undefined): string {
  if (source === undefined) return '';
  const address = unmapIPv4(source);
  const bytes = ipVersion(address) === 6 ? parseIPv6(address) : undefined;
  return bytes ? Buffer.from(bytes).toString('hex', 0, PREFIX) : address;
}

/** Stages of an association. A flood of single datagrams stays at the first one. */
export const Stage = {
  /** No response has arrived. */
  unanswered: 0,
  /** A response has arrived. */
  answered: 1,
  /** The client has sent more after a response: a conversation, not one query. */
  lasting: 2,
} as const;
export type Stage = (typeof Stage)[keyof typeof Stage];

/** Milliseconds without a datagram after which an `answered` association may be replaced. */
const ANSWERED_IDLE_MS = 1_000;
/**
 * Milliseconds without a datagram after which a `lasting` association may be replaced; programs keep those open by a
 * datagram every 15 to 25 seconds.
 */
const LASTING_IDLE_MS = 30_000;
/** Ratio of unanswered associations at which a client has far more of them than another has associations. */
const FAR_MORE = 8;
/** Associations that are examined in search of an idle one. */
const LOOKS = 8;

/** An association in an `AssociationOrder`, which alone sets `stage`. */
export interface Ordered {
  stage: Stage;
  /** Time at which the association last carried a datagram, in milliseconds. */
  readonly activeAt: number;
}

/**
 * Associations that share a limited resource, flows of a device or descriptors, and the order in which they are
 * replaced when it is exhausted. One program can send a datagram from each of its ports, and each creates an
 * association; that must not end associations in use, even where all programs have one address. So unanswered ones are
 * replaced first, then idle ones that were answered once, then idle lasting ones; in each stage the oldest one of the
 * client that has the most.
 * @typeParam Client a primitive value.
 */
export class AssociationOrder<Item extends Ordered, Client> {
  readonly #stages: Readonly<Record<Stage, Shares<Item, Client>>> = {
    [Stage.unanswered]: new Shares(),
    [Stage.answered]: new Shares(),
    [Stage.lasting]: new Shares(),
  };

  get size(): number {
    return this.brief + this.#stages[Stage.lasting].size;
  }

  /** Adds an association, which must not be in an order already. */
  add(item: Item, client: Client): void {
    this.#stages[item.stage].add(item, client);
  }

  /** Records a response to an association's client. Only at the stage `unanswered`. */
  answered(item: Item): void {
    this.#move(item, Stage.answered);
  }

  /** Records a datagram of the client after a response. Only at the stage `answered`. */
  lasts(item: Item): void {
    this.#move(item, Stage.lasting);
  }

  /** Removes an association. Idempotent. */
  delete(item: Item): void {
    this.#stages[item.stage].delete(item);
  }

  /** Number of associations that do not last, of all clients. */
  get brief(): number {
    return this.#stages[Stage.unanswered].size + this.#stages[Stage.answered].size;
  }

  /** Returns the number of associations of a client that do not last. */
  briefOf(client: Client): number {
    return (
      this.#stages[Stage.unanswered].countOf(client) + this.#stages[Stage.answered].countOf(client)
    );
  }

  /** Whether a client has far fewer unanswered associations than another one. */
  isLight(client: Client): boolean {
    const { most } = this.#stages[Stage.unanswered];
    return most >= FAR_MORE * (this.#countOf(client) + 1);
  }

  /**
   * Returns the association to replace with a new one; the caller ends it. `undefined` when all others have precedence
   * over the new one, which has a single datagram so far.
   * @param client the client of the new association. A client that has far more than others replaces only its own.
   */
  victim(client: Client, now: number): Item | undefined {
    return (
      this.briefVictim(client, now) ??
      this.#idle(this.#stages[Stage.lasting], client, LASTING_IDLE_MS, now)
    );
  }

  /** As `victim`, of the associations that do not last. */
  briefVictim(client: Client, now: number): Item | undefined {
    const unanswered = this.#stages[Stage.unanswered].heaviest;
    if (unanswered && this.#mayTake(unanswered.holder, client)) return unanswered.oldest;
    return this.#idle(this.#stages[Stage.answered], client, ANSWERED_IDLE_MS, now);
  }

  #countOf(client: Client): number {
    return this.briefOf(client) + this.#stages[Stage.lasting].countOf(client);
  }

  /** Whether a client may replace an association of another: not with more than twice as many. */
  #mayTake(from: Client, client: Client): boolean {
    return from === client || this.#countOf(client) <= 2 * this.#countOf(from);
  }

  #idle(shares: Shares<Item, Client>, client: Client, idle: number, now: number): Item | undefined {
    for (let look = 0; look < LOOKS; look++) {
      const { heaviest } = shares;
      if (heaviest === undefined || !this.#mayTake(heaviest.holder, client)) return undefined;
      const { holder, oldest } = heaviest;
      const isFarHeavier = this.#countOf(holder) > 2 * (this.#countOf(client) + 1);
      if (now - oldest.activeAt >= idle || isFarHeavier) return oldest;
      shares.renew(oldest);
    }
    return undefined;
  }

  #move(item: Item, stage: Stage): void {
    const client = this.#stages[item.stage].delete(item);
    item.stage = stage;
    if (client !== undefined) this.#stages[stage].add(item, client);
  }
}

/** A holder of descriptors for a client: an accepted connection, or the destination of a flow. */
export interface DescriptorHolder {
  /** Closes the descriptors. */
  evict(cause: Error): void;
}

/**
 * Number of descriptors by which the source that holds the most must exceed another source before one of its holders is
 * evicted: those of one flow, so that two sources of equal shares do not close each other's in turn.
 */
const MARGIN = 2;

/**
 * The descriptors that the clients of all inbounds hold, by source. Once no more can be opened, the newest holder of
 * the source with the most descriptors is evicted for others, since older ones are more likely in use. A source never
 * evicts its own, so nothing is closed where there is only one.
 */
export class DescriptorHolders {
  readonly #shares = new Shares<DescriptorHolder, string>();

  /** Number of holders of all sources. */
  get size(): number {
    return this.#shares.size;
  }

  /** Adds a holder. @param source the client's IP address; `undefined` on a unix socket. */
  add(holder: DescriptorHolder, source: string | undefined): void {
    this.#shares.add(holder, sourceGroup(source));
  }

  /** Removes a holder. Idempotent. */
  delete(holder: DescriptorHolder): void {
    this.#shares.delete(holder);
  }

  /** Evicts a holder of the source with the most; returns false when `source` itself has the most, or nearly. */
  makeRoom(source: string | undefined): boolean {
    const shares = this.#shares;
    if (shares.most <= shares.countOf(sourceGroup(source)) + MARGIN) return false;
    const newest = shares.heaviest?.newest;
    if (!newest) return false;
    shares.delete(newest);
    newest.evict(new LinkClosedError('too many open files: it gave way to another client'));
    return true;
  }
}

/** The holders of this process. */
export const descriptorHolders = new DescriptorHolders();
