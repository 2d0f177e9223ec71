import type { IpEndpoint } from '../../ip/ip-endpoint.ts';

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
