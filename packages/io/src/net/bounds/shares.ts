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
 *
 * @typeParam Holder a primitive value.
 */
export class Shares<Item, Holder> {
  readonly #entries = new Map<Item, Entry<Item, Holder>>();
  readonly #shares = new Map<Holder, Share<Item, Holder>>();
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

  /**
   * Removes an item.
   * @returns the holder that had the item, if any.
   */
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
}
