import type { RandomSource } from '@weir/base/random';
import { LOCAL_ID_SIZE } from '../limits.ts';
import type { IpEndpoint } from '@weir/base/ip';

interface Entry<Owner> {
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
  readonly #issued = new Map<number, Entry<Owner>>();
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
    const key = wordAt(id, 0);
    if (this.#issued.get(key)?.rest === wordAt(id, 4)) this.#issued.delete(key);
  }

  /** Returns the owner of the issued id at `offset`, which has `LOCAL_ID_SIZE` bytes. */
  find(bytes: Uint8Array, offset: number): Owner | undefined {
    const entry = this.#issued.get(wordAt(bytes, offset));
    return entry !== undefined && entry.rest === wordAt(bytes, offset + 4)
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

const wordAt = (bytes: Uint8Array, at: number): number =>
  ((bytes[at] as number) << 24) |
  ((bytes[at + 1] as number) << 16) |
  ((bytes[at + 2] as number) << 8) |
  (bytes[at + 3] as number);

/** Returns a key of at most 20 characters, one per byte. */
function textOf(bytes: Uint8Array, offset: number, size: number): string {
  let text = '';
  for (let at = offset; at < offset + size; at++) text += String.fromCharCode(bytes[at] as number);
  return text;
}

/** An item with the address of a peer. */
export interface HasPeer {
  readonly peer: IpEndpoint;
  /** The item's key in a `PeerIndex`, which alone sets it. */
  peerKey: number;
}

/** Connections by the address of their peer, each once. */
export class PeerIndex<Item extends HasPeer> {
  readonly #byKey = new Map<number, Item[]>();

  get size(): number {
    return this.#byKey.size;
  }

  add(item: Item): void {
    item.peerKey = keyOf(item.peer);
    const known = this.#byKey.get(item.peerKey);
    if (known) known.push(item);
    else this.#byKey.set(item.peerKey, [item]);
  }

  remove(item: Item): void {
    const known = this.#byKey.get(item.peerKey);
    const at = known?.indexOf(item) ?? -1;
    if (known === undefined || at < 0) return;
    if (known.length === 1) this.#byKey.delete(item.peerKey);
    else known.splice(at, 1);
  }

  /** Returns the items with this peer, and possibly some of another one. */
  candidates(peer: IpEndpoint): readonly Item[] {
    return this.#byKey.get(keyOf(peer)) ?? NONE;
  }
}

const NONE: readonly never[] = [];

/** Returns a 32-bit hash of an address and a port. */
const keyOf = ({ a, b, c, d, port }: IpEndpoint): number =>
  Math.imul(a ^ Math.imul(b, 0x85eb_ca6b) ^ c, 0xc2b2_ae35) ^ d ^ Math.imul(port, 0x9e37_79b1);
