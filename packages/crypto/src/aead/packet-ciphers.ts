import { type Cipheriv, createCipheriv, createSecretKey, type KeyObject } from 'node:crypto';
import {
  type EvpMaskName,
  EvpMasks,
  EvpPacketOpener,
  EvpPacketSealer,
  PacketEvp,
} from '@weir/io/openssl';
import { baselineAead } from './baseline-aead.ts';
import { checkedPacketCiphers } from './checked.ts';
import {
  checkKey,
  CryptoError,
  type HeaderMasks,
  MASK_BATCH,
  MASK_LENGTH,
  type Opener,
  type PacketCipher,
  type PacketCipherBackend,
  type PacketCipherName,
  type PacketOpening,
  type PacketSealing,
  type Sealer,
  TAG_LENGTH,
} from './contract.ts';
import { packetCiphersAgree } from './self-test.ts';
import { chooseBackend } from '../choose-backend.ts';

function checkRange(bytes: Uint8Array, start: number, middle: number, end: number): void {
  // Written so that NaN is rejected, too.
  if (!(start >= 0 && start <= middle && middle <= end && end <= bytes.length)) {
    throw new RangeError('the packet is not within its buffer');
  }
}

/** A packet cipher that passes views of the packet to an AEAD. */
class BaselinePacketCipher<Cipher extends Sealer | Opener> implements PacketCipher {
  readonly name: PacketCipherName;
  readonly nonce = new Uint8Array(12);
  protected readonly cipher: Cipher;

  constructor(name: PacketCipherName, cipher: Cipher) {
    this.name = name;
    this.cipher = cipher;
  }

  [Symbol.dispose](): void {
    this.cipher[Symbol.dispose]();
  }
}

class BaselineSealing extends BaselinePacketCipher<Sealer> implements PacketSealing {
  seal(bytes: Uint8Array, start: number, middle: number, end: number): void {
    checkRange(bytes, start, middle, end);
    if (end + TAG_LENGTH > bytes.length)
      throw new RangeError('the packet is not within its buffer');
    const associated = bytes.subarray(start, middle);
    const out = bytes.subarray(middle, end + TAG_LENGTH);
    this.cipher.seal(this.nonce, bytes.subarray(middle, end), out, associated);
  }
}

class BaselineOpening extends BaselinePacketCipher<Opener> implements PacketOpening {
  open(bytes: Uint8Array, start: number, middle: number, end: number): boolean {
    checkRange(bytes, start, middle, end);
    const sealed = bytes.subarray(middle, end);
    return this.cipher.open(this.nonce, sealed, sealed, bytes.subarray(start, middle));
  }
}

/** The buffers of samples and masks, for each cipher. */
abstract class BaselineMasks implements HeaderMasks {
  readonly samples = new Uint8Array(MASK_BATCH * MASK_LENGTH);
  readonly masks = new Uint8Array(MASK_BATCH * MASK_LENGTH);

  compute(count: number): void {
    if (!(count >= 0 && count <= MASK_BATCH)) throw new RangeError('too many samples');
    this.fill(count);
  }

  protected abstract fill(count: number): void;
  abstract [Symbol.dispose](): void;
}

class AesMasks extends BaselineMasks {
  #cipher: Cipheriv | undefined;

  constructor(name: 'aes-128-ecb' | 'aes-256-ecb', key: Uint8Array) {
    super();
    this.#cipher = createCipheriv(name, key, null).setAutoPadding(false);
  }

  protected fill(count: number): void {
    if (!this.#cipher) throw new CryptoError('a cipher was used after it was closed');
    this.masks.set(this.#cipher.update(this.samples.subarray(0, count * MASK_LENGTH)));
  }

  [Symbol.dispose](): void {
    this.#cipher = undefined;
  }
}

const ZEROS = new Uint8Array(MASK_LENGTH);

class ChaChaMasks extends BaselineMasks {
  #key: KeyObject | undefined;

  constructor(key: Uint8Array) {
    super();
    this.#key = createSecretKey(key);
  }

  protected fill(count: number): void {
    if (!this.#key) throw new CryptoError('a cipher was used after it was closed');
    for (let at = 0; at < count * MASK_LENGTH; at += MASK_LENGTH) {
      // The sample is the little-endian block counter followed by the nonce, which is the format of OpenSSL's IV.
      const sample = this.samples.subarray(at, at + MASK_LENGTH);
      this.masks.set(createCipheriv('chacha20', this.#key, sample).update(ZEROS), at);
    }
  }

  [Symbol.dispose](): void {
    this.#key = undefined;
  }
}

/** The packet ciphers on node:crypto, which work on every Node: the reference for other implementations. */
export const baselinePacketCiphers: PacketCipherBackend = {
  name: 'baseline',
  sealing: (name, key) => new BaselineSealing(name, baselineAead.sealer(name, key)),
  opening: (name, key) => new BaselineOpening(name, baselineAead.opener(name, key)),
  headerMasks(name, key) {
    checkKey(name, key);
    if (name === 'chacha20-poly1305') return new ChaChaMasks(key);
    return new AesMasks(name === 'aes-128-gcm' ? 'aes-128-ecb' : 'aes-256-ecb', key);
  },
};

export {
  MASK_BATCH,
  MASK_LENGTH,
  type HeaderMasks,
  type PacketCipherName,
  type PacketOpening,
  type PacketSealing,
} from './contract.ts';

/** Selects the implementation of packet ciphers of this process; see `chooseBackend`. */
export const choosePacketCiphers = (setting = process.env['WEIR_CRYPTO']): PacketCipherBackend =>
  chooseBackend(
    {
      baseline: baselinePacketCiphers,
      open: openOpensslPacketCiphers,
      agrees: packetCiphersAgree,
      checked: checkedPacketCiphers,
    },
    setting,
  );

/** Selected when the first packet is processed, so that commands without packets do not load it. */
let chosen: PacketCipherBackend | undefined;

/** Returns the implementation of packet ciphers that this process uses. */
export const packetCiphers = (): PacketCipherBackend => (chosen ??= choosePacketCiphers());

/** The cipher that computes the header-protection masks for each packet cipher (RFC 9001 §5.4.3, §5.4.4). */
const MASKS: Readonly<Record<PacketCipherName, EvpMaskName>> = {
  'aes-128-gcm': 'aes-128-ecb',
  'aes-256-gcm': 'aes-256-ecb',
  'chacha20-poly1305': 'chacha20',
};

/**
 * Opens the packet ciphers of OpenSSL, which work in place: five native calls per packet, one per batch of masks.
 * @throws {NativeError} on machines where OpenSSL cannot be called.
 */
export function openOpensslPacketCiphers(): PacketCipherBackend {
  const evp = new PacketEvp();
  return {
    name: 'openssl',
    sealing: (name, key) => new EvpPacketSealer(evp, name, key),
    opening: (name, key) => new EvpPacketOpener(evp, name, key),
    headerMasks: (name, key) => new EvpMasks(evp, MASKS[name], key),
  };
}
