import {
  AEAD_SHAPES,
  createOpener,
  createSealer,
  TAG_LENGTH,
  type Opener,
  type Sealer,
} from '@weir/crypto/aead';
import type { RandomSource } from '@weir/base/random';
import { decodeAddressed, SOCKS_ADDRESS } from '@weir/io/addresses';
import type { Packet } from '@weir/io/links';
import { subkeyOf } from '../keys.ts';
import type { Method } from '../methods.ts';
import { AddressMemo, type DatagramCodec } from '../packets.ts';

/**
 * Datagrams of SIP004 §3: a salt, then address and data sealed under its subkey with nonce zero.
 * One context is rekeyed for each datagram.
 */
export class LegacyDatagrams implements Disposable {
  readonly #method: Method;
  readonly #random: RandomSource;
  readonly #nonce: Uint8Array;
  readonly #sealer: Sealer;
  readonly #opener: Opener;

  constructor(method: Method, random: RandomSource) {
    this.#method = method;
    this.#random = random;
    this.#nonce = new Uint8Array(AEAD_SHAPES[method.aead].nonceLength);
    this.#sealer = createSealer(method.aead, new Uint8Array(method.keyLength));
    this.#opener = createOpener(method.aead, new Uint8Array(method.keyLength));
  }

  /** Seals an encoded address and data under a new salt. */
  seal(key: Uint8Array, address: Uint8Array, data: Uint8Array): Buffer {
    const { keyLength } = this.#method;
    const plainEnd = keyLength + address.length + data.length;
    const out = Buffer.allocUnsafe(plainEnd + TAG_LENGTH);
    const salt = this.#random.bytes(keyLength);
    out.set(salt);
    out.set(address, keyLength);
    out.set(data, keyLength + address.length);
    this.#sealer.rekey(subkeyOf(this.#method, key, salt));
    this.#sealer.seal(this.#nonce, out.subarray(keyLength, plainEnd), out.subarray(keyLength));
    return out;
  }

  saltOf(datagram: Uint8Array): Uint8Array {
    return datagram.subarray(0, this.#method.keyLength);
  }

  /** Opens address and data; `undefined` for a datagram that was not sealed under `key`. */
  open(key: Uint8Array, datagram: Uint8Array): Uint8Array | undefined {
    const { keyLength } = this.#method;
    const sealed = datagram.subarray(keyLength);
    if (sealed.length < TAG_LENGTH) return undefined;
    // Not in place: a search for the user tries several keys.
    const plain = Buffer.allocUnsafe(sealed.length - TAG_LENGTH);
    this.#opener.rekey(subkeyOf(this.#method, key, this.saltOf(datagram)));
    return this.#opener.open(this.#nonce, sealed, plain) ? plain : undefined;
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
    this.#opener[Symbol.dispose]();
  }
}

/** A client's association, which has no state: each datagram is sealed on its own. */
export class LegacyDatagramCodec implements DatagramCodec {
  readonly #datagrams: LegacyDatagrams;
  readonly #key: Uint8Array;
  readonly #address = new AddressMemo();

  constructor(method: Method, key: Uint8Array, random: RandomSource) {
    this.#datagrams = new LegacyDatagrams(method, random);
    this.#key = key;
  }

  encode({ data, peer }: Packet): Buffer | undefined {
    const address = this.#address.encode(peer);
    return address && this.#datagrams.seal(this.#key, address, data);
  }

  decode(datagram: Uint8Array): Packet | undefined {
    const plain = this.#datagrams.open(this.#key, datagram);
    return plain && decodeAddressed(plain, 0, SOCKS_ADDRESS);
  }

  [Symbol.dispose](): void {
    this.#datagrams[Symbol.dispose]();
  }
}
