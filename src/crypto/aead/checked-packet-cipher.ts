import { CryptoError, TAG_LENGTH } from './aead-contract.ts';
import { Checked, forgottenCiphers } from './checked-cipher.ts';
import {
  MASK_LENGTH,
  type HeaderMasks,
  type PacketCipherBackend,
  type PacketCipherName,
  type PacketOpening,
  type PacketSealing,
} from './packet-cipher-contract.ts';

class CheckedSealing extends Checked<PacketSealing> implements PacketSealing {
  get name(): PacketCipherName {
    return this.subject.name;
  }

  get nonce(): Uint8Array {
    return this.subject.nonce;
  }

  seal(bytes: Uint8Array, start: number, middle: number, end: number): void {
    this.mustBeOpen();
    const expected = copyOf(bytes, start, end + TAG_LENGTH);
    this.subject.seal(bytes, start, middle, end);
    this.witness.nonce.set(this.nonce);
    this.witness.seal(expected, 0, middle - start, end - start);
    if (Buffer.compare(bytes.subarray(start, end + TAG_LENGTH), expected) !== 0) {
      throw new CryptoError(`${this.name}: a packet was not sealed as the baseline seals it`);
    }
  }
}

class CheckedOpening extends Checked<PacketOpening> implements PacketOpening {
  get name(): PacketCipherName {
    return this.subject.name;
  }

  get nonce(): Uint8Array {
    return this.subject.nonce;
  }

  open(bytes: Uint8Array, start: number, middle: number, end: number): boolean {
    this.mustBeOpen();
    const expected = copyOf(bytes, start, end);
    const authentic = this.subject.open(bytes, start, middle, end);
    this.witness.nonce.set(this.nonce);
    if (this.witness.open(expected, 0, middle - start, end - start) !== authentic) {
      throw new CryptoError(`${this.name}: a packet was not judged as the baseline judges it`);
    }
    // The ciphertext of a packet that is not authentic may have been overwritten.
    if (authentic && Buffer.compare(bytes.subarray(start, end), expected) !== 0) {
      throw new CryptoError(`${this.name}: a packet was not opened as the baseline opens it`);
    }
    return authentic;
  }
}

/** Copies a part of a packet; returns an empty copy for detached memory, which the ciphers reject. */
const copyOf = (bytes: Uint8Array, start: number, end: number): Uint8Array =>
  bytes.length === 0 ? new Uint8Array(0) : Uint8Array.from(bytes.subarray(start, end));

class CheckedMasks extends Checked<HeaderMasks> implements HeaderMasks {
  get samples(): Uint8Array {
    return this.subject.samples;
  }

  get masks(): Uint8Array {
    return this.subject.masks;
  }

  compute(count: number): void {
    this.mustBeOpen();
    this.witness.samples.set(this.samples);
    this.witness.compute(count);
    this.subject.compute(count);
    const used = count * MASK_LENGTH;
    if (Buffer.compare(this.masks.subarray(0, used), this.witness.masks.subarray(0, used)) !== 0) {
      throw new CryptoError('masks were not computed as the baseline computes them');
    }
  }
}

/**
 * Wraps `subject` with checks: compares every packet with `truth`, and reports ciphers that were garbage-collected
 * without disposal, with the stack of their creation. Many times slower; for tests and debugging.
 */
export function checkedPacketCiphers(
  subject: PacketCipherBackend,
  truth: PacketCipherBackend,
  report = (text: string): void => process.emitWarning(text, 'CryptoWarning'),
): PacketCipherBackend {
  const forgotten = forgottenCiphers(report);
  return {
    name: subject.name,
    sealing: (name, key) =>
      new CheckedSealing(
        `a packet cipher ${name}`,
        subject.sealing(name, key),
        truth.sealing(name, key),
        forgotten,
      ),
    opening: (name, key) =>
      new CheckedOpening(
        `a packet cipher ${name}`,
        subject.opening(name, key),
        truth.opening(name, key),
        forgotten,
      ),
    headerMasks: (name, key) =>
      new CheckedMasks(
        `a header protection of ${name}`,
        subject.headerMasks(name, key),
        truth.headerMasks(name, key),
        forgotten,
      ),
  };
}
