import type { RandomSource } from '../../crypto/random-source.ts';
import { TAG_LENGTH } from '../../crypto/aead.ts';
import type { Sealer } from '../../crypto/aead.ts';
import type { Clock } from '../../net/clock.ts';
import type { Packet } from '../../net/link.ts';
import { AddressMemo } from './datagram-codec.ts';
import { BlockCipher, identityOf } from './keys.ts';
import type { Method } from './methods.ts';
import {
  hasSeparateHeader,
  LONG_NONCE,
  messageLength,
  paddingFor,
  Session2022,
  SESSION_HEADER,
  sessionSealer,
  writeMessage,
} from './packet-2022.ts';

export interface SealDeps {
  readonly method: Method;
  readonly clock: Clock;
  readonly random: RandomSource;
}

/** Seals the datagrams of one session of our own. */
export class DatagramSealer implements Disposable {
  readonly session: Session2022;
  readonly #deps: SealDeps;
  readonly #sealer: Sealer;
  readonly #clientSession: Uint8Array | undefined;
  readonly #ciphers: readonly BlockCipher[];
  readonly #identities: readonly Buffer[];
  readonly #address = new AddressMemo();

  /**
   * @param keys a client's chain, the user's own key last; a server's is the key of its user.
   * @param clientSession the session that a server answers.
   */
  constructor(deps: SealDeps, keys: readonly Uint8Array[], clientSession?: Uint8Array) {
    const own = keys.at(-1) ?? new Uint8Array(0); // there is one at least
    this.#deps = deps;
    this.#clientSession = clientSession;
    this.session = new Session2022(deps.random);
    this.#sealer = sessionSealer(deps.method, own, this.session.id);
    this.#ciphers = hasSeparateHeader(deps.method) ? keys.map((key) => new BlockCipher(key)) : [];
    this.#identities = keys.slice(1).map(identityOf);
  }

  /** The datagram; `undefined` when the peer's name does not fit. */
  seal({ data, peer }: Packet): Buffer | undefined {
    const address = this.#address.encode(peer);
    if (!address) return undefined;
    const { method, clock, random } = this.#deps;
    const parts = { wallMs: clock.wall(), clientSession: this.#clientSession };
    const padding = random.bytes(paddingFor(peer.port, random));
    const length = messageLength(parts, padding.length, address, data);
    const header = this.session.header();
    if (!hasSeparateHeader(method)) {
      const bodyAt = LONG_NONCE + SESSION_HEADER;
      const out = Buffer.allocUnsafe(bodyAt + length + TAG_LENGTH);
      const nonce = random.bytes(LONG_NONCE);
      out.set(nonce);
      out.set(header, LONG_NONCE);
      writeMessage(out, bodyAt, parts, padding, address, data);
      this.#sealBody(nonce, out, LONG_NONCE);
      return out;
    }
    const bodyAt = SESSION_HEADER * (1 + this.#identities.length);
    const out = Buffer.allocUnsafe(bodyAt + length + TAG_LENGTH);
    this.#writeHeaders(out, header);
    writeMessage(out, bodyAt, parts, padding, address, data);
    this.#sealBody(header.subarray(4), out, bodyAt);
    return out;
  }

  [Symbol.dispose](): void {
    this.#sealer[Symbol.dispose]();
  }

  #sealBody(nonce: Uint8Array, out: Buffer, at: number): void {
    this.#sealer.seal(nonce, out.subarray(at, out.length - TAG_LENGTH), out.subarray(at));
  }

  /** The separate header under the first key, then an identity header for each further one. */
  #writeHeaders(out: Buffer, header: Buffer): void {
    this.#ciphers.forEach((cipher, index) => {
      if (index === 0) out.set(cipher.encrypt(header));
      const identity = this.#identities[index];
      if (identity) out.set(cipher.encrypt(xor(identity, header)), SESSION_HEADER * (index + 1));
    });
  }
}

export const xor = (a: Uint8Array, b: Uint8Array): Buffer =>
  Buffer.from(a.map((byte, index) => byte ^ (b[index] ?? 0)));
