import { createHash, createHmac } from 'node:crypto';
import { blake2b, blake2s } from '@noble/hashes/blake2.js';
import { EvpBlake2b } from '@weir/io/openssl';
import { chooseBackend } from '../choose-backend.ts';

const DIGEST_LENGTH = 32;

/**
 * BLAKE2b-256 (RFC 7693) of a fixed prefix and a variable suffix, for one hash per packet. The OpenSSL implementation
 * does not allocate.
 */
export interface SuffixedHash {
  /** The suffix, which the caller sets before `compute`. */
  readonly suffix: Uint8Array;
  /** The digest of 32 bytes, valid until the next `compute`. */
  readonly digest: Uint8Array;
  compute(): void;
}

/** Creates a hash for a prefix and a suffix of `suffixLength` bytes. */
export type SuffixedHashes = (prefix: Uint8Array, suffixLength: number) => SuffixedHash;

/** BLAKE2b-256 in JavaScript, 4.7 µs per hash; OpenSSL takes 0.4 µs. */
export const baselineBlake2b: SuffixedHashes = (prefix, suffixLength) => {
  const input = new Uint8Array(prefix.length + suffixLength);
  input.set(prefix);
  const digest = new Uint8Array(DIGEST_LENGTH);
  return {
    suffix: input.subarray(prefix.length),
    digest,
    compute: () => digest.set(blake2b(input, { dkLen: DIGEST_LENGTH })),
  };
};

/** Opens BLAKE2b-256 of OpenSSL. @throws {NativeError} on machines where OpenSSL cannot be called. */
export function openOpensslBlake2b(): SuffixedHashes {
  const evp = new EvpBlake2b();
  return (prefix, suffixLength) => {
    const length = prefix.length + suffixLength;
    const input = evp.memory(length);
    input.bytes.set(prefix);
    // Twice the length, so that a digest of the full size could not overrun it.
    const out = evp.memory(2 * DIGEST_LENGTH);
    return {
      suffix: input.bytes.subarray(prefix.length, length),
      digest: out.bytes.subarray(0, DIGEST_LENGTH),
      compute: () => evp.digest(input, length, out),
    };
  };
}

/** Selects the implementation of BLAKE2b-256 of this process; see `chooseBackend`. */
export const chooseBlake2b = (setting = process.env['WEIR_CRYPTO']): SuffixedHashes =>
  chooseBackend<SuffixedHashes>(
    { baseline: baselineBlake2b, open: openOpensslBlake2b, agrees: hashesAgree },
    setting,
  );

/** Prefix lengths around a block of 128 bytes. */
const PREFIX_LENGTHS = [4, 16, 119, 120, 121, 300];

function hashesAgree(candidate: SuffixedHashes): boolean {
  return PREFIX_LENGTHS.every((length) => {
    const prefix = Uint8Array.from({ length }, (_, index) => index * 7);
    const [subject, truth] = [candidate(prefix, 8), baselineBlake2b(prefix, 8)];
    return [0, 255].every((octet) => {
      for (const hash of [subject, truth]) {
        hash.suffix.fill(octet);
        hash.compute();
      }
      return Buffer.compare(subject.digest, truth.digest) === 0;
    });
  });
}

/** Selected when the first hash is created, so that a process without hashes does not load it. */
let chosen: SuffixedHashes | undefined;

/** Creates a hash of the implementation that this process uses. */
export const suffixedBlake2b: SuffixedHashes = (prefix, suffixLength) =>
  (chosen ??= chooseBlake2b())(prefix, suffixLength);

/** Computes BLAKE2s-256 (RFC 7693) of the concatenated parts. */
export function blake2s256(...parts: readonly Uint8Array[]): Buffer {
  const hash = createHash('blake2s256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

/** Computes HMAC (RFC 2104) with BLAKE2s-256: 32 bytes. Keyed BLAKE2s is a different function. */
export function hmacBlake2s(key: Uint8Array, ...parts: readonly Uint8Array[]): Buffer {
  const hmac = createHmac('blake2s256', key);
  for (const part of parts) hmac.update(part);
  return hmac.digest();
}

/**
 * Computes keyed BLAKE2s with a digest of 16 bytes (RFC 7693 §2.9), a message authentication code.
 *
 * Implemented in JavaScript, 3 µs for a short message: node:crypto has no typed API for keyed BLAKE2s.
 *
 * @param key 1 to 32 bytes.
 */
export const blake2sMac = (key: Uint8Array, message: Uint8Array): Uint8Array =>
  blake2s(message, { key, dkLen: 16 });
