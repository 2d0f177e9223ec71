import type { RandomSource } from '@weir/base/random';
import { isSameEndpoint, type IpEndpoint } from '@weir/base/ip';

/** An element that is found by its endpoints. Only a `FlowTable` changes the last two fields. */
export interface Keyed {
  readonly local: IpEndpoint;
  readonly remote: IpEndpoint;
  hash: number;
  nextKeyed: Keyed | undefined;
}

const FEWEST_BUCKETS = 64;

/**
 * Finds the flow of a packet by both endpoints: a hash table with chains through its elements, which allocates
 * nothing per packet. The hash has a secret, so that a peer cannot choose ports that all fall into one chain.
 * The owner bounds the number of elements; the table does not shrink.
 */
export class FlowTable<Item extends Keyed> {
  readonly #secret: number;
  readonly #secondSecret: number;
  #buckets: (Keyed | undefined)[] = emptyBuckets(FEWEST_BUCKETS);
  #size = 0;

  constructor(random: RandomSource) {
    const secrets = random.bytes(8);
    this.#secret = secrets.readInt32LE(0);
    this.#secondSecret = secrets.readInt32LE(4);
  }

  get size(): number {
    return this.#size;
  }

  find(local: IpEndpoint, remote: IpEndpoint): Item | undefined {
    const hash = this.#hash(local, remote);
    let item = this.#buckets[hash & (this.#buckets.length - 1)];
    while (item !== undefined) {
      if (
        item.hash === hash &&
        isSameEndpoint(item.remote, remote) &&
        isSameEndpoint(item.local, local)
      ) {
        return item as Item; // only Items are ever added
      }
      item = item.nextKeyed;
    }
    return undefined;
  }

  /** Adds an element whose endpoints are not in the table. */
  add(item: Item): void {
    if (this.#size >= this.#buckets.length) this.#grow();
    item.hash = this.#hash(item.local, item.remote);
    this.#link(item);
    this.#size++;
  }

  /** Removes an element. Idempotent. */
  remove(item: Item): void {
    const at = item.hash & (this.#buckets.length - 1);
    let before: Keyed | undefined;
    for (let each = this.#buckets[at]; each !== undefined; each = each.nextKeyed) {
      if (each === item) {
        if (before === undefined) this.#buckets[at] = item.nextKeyed;
        else before.nextKeyed = item.nextKeyed;
        item.nextKeyed = undefined;
        this.#size--;
        return;
      }
      before = each;
    }
  }

  /** Iterates over all elements. The current one may be removed meanwhile. */
  *[Symbol.iterator](): Generator<Item> {
    for (const head of this.#buckets) {
      let item = head;
      while (item !== undefined) {
        const next = item.nextKeyed;
        yield item as Item;
        item = next;
      }
    }
  }

  /** Returns a snapshot of all elements. */
  toArray(): Item[] {
    const items: Item[] = [];
    for (const head of this.#buckets) {
      for (let item = head; item !== undefined; item = item.nextKeyed) items.push(item as Item);
    }
    return items;
  }

  #link(item: Keyed): void {
    const at = item.hash & (this.#buckets.length - 1);
    item.nextKeyed = this.#buckets[at];
    this.#buckets[at] = item;
  }

  /** Doubles the number of chains, so that adding an element takes constant time on average. */
  #grow(): void {
    const before = this.#buckets;
    this.#buckets = emptyBuckets(before.length * 2);
    for (const head of before) {
      let item = head;
      while (item !== undefined) {
        const next = item.nextKeyed;
        this.#link(item);
        item = next;
      }
    }
  }

  #hash(local: IpEndpoint, remote: IpEndpoint): number {
    let hash = this.#secret;
    hash = mixed(hash, remote.d);
    hash = mixed(hash, local.d);
    hash = mixed(hash, (remote.port << 16) | local.port);
    // The other words of IPv4 addresses never vary.
    if ((remote.a | remote.b | local.a | local.b) !== 0) {
      hash = mixed(hash, remote.a);
      hash = mixed(hash, remote.b);
      hash = mixed(hash, remote.c);
      hash = mixed(hash, local.a);
      hash = mixed(hash, local.b);
      hash = mixed(hash, local.c);
    }
    return finished(hash ^ this.#secondSecret);
  }
}

const emptyBuckets = (count: number): (Keyed | undefined)[] =>
  Array.from<Keyed | undefined>({ length: count }).fill(undefined);

/** Performs one step of MurmurHash3. */
function mixed(hash: number, word: number): number {
  let k = Math.imul(word, 0xcc9e2d51);
  k = Math.imul((k << 15) | (k >>> 17), 0x1b873593);
  const h = hash ^ k;
  return Math.imul((h << 13) | (h >>> 19), 5) + 0xe6546b64;
}

/** Applies the finishing steps of MurmurHash3, by which each bit affects all others. */
function finished(hash: number): number {
  let h = hash;
  h = Math.imul(h ^ (h >>> 16), 0x85ebca6b);
  h = Math.imul(h ^ (h >>> 13), 0xc2b2ae35);
  return h ^ (h >>> 16);
}
