import { blake2b } from '@noble/hashes/blake2.js';
import { EvpBlake2b } from '@weir/io/openssl-hashes';
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
export const chooseBlake2b = (wish = process.env['WEIR_CRYPTO']): SuffixedHashes =>
  chooseBackend<SuffixedHashes>(
    { baseline: baselineBlake2b, open: openOpensslBlake2b, agrees: hashesAgree },
    wish,
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
