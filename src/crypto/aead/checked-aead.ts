import {
  CryptoError,
  TAG_LENGTH,
  type AeadBackend,
  type AeadName,
  type Opener,
  type Sealer,
} from './aead-contract.ts';
import { Checked, forgottenCiphers, type Made } from './checked-cipher.ts';

/** The common part of checked sealers and openers. */
class CheckedAead<Cipher extends Sealer | Opener> extends Checked<Cipher> {
  readonly name: AeadName;

  constructor(subject: Cipher, witness: Cipher, forgotten: FinalizationRegistry<Made>) {
    super(`a cipher ${subject.name}`, subject, witness, forgotten);
    this.name = subject.name;
  }

  rekey(key: Uint8Array): void {
    this.mustBeOpen();
    this.subject.rekey(key);
    this.witness.rekey(key);
  }
}

class CheckedSealer extends CheckedAead<Sealer> implements Sealer {
  seal(nonce: Uint8Array, plain: Uint8Array, out: Uint8Array, associated?: Uint8Array): void {
    this.mustBeOpen();
    mustNotStraddle(plain, out);
    const expected = new Uint8Array(plain.length + TAG_LENGTH);
    this.witness.seal(nonce, plain, expected, associated);
    this.subject.seal(nonce, plain, out, associated);
    if (Buffer.compare(out.subarray(0, expected.length), expected) !== 0) {
      throw new CryptoError(`${this.name}: a message was not sealed as the baseline seals it`);
    }
  }
}

class CheckedOpener extends CheckedAead<Opener> implements Opener {
  open(nonce: Uint8Array, sealed: Uint8Array, out: Uint8Array, associated?: Uint8Array): boolean {
    this.mustBeOpen();
    mustNotStraddle(sealed, out);
    const expected = new Uint8Array(Math.max(0, sealed.length - TAG_LENGTH));
    const authentic = this.witness.open(nonce, sealed, expected, associated);
    if (this.subject.open(nonce, sealed, out, associated) !== authentic) {
      throw new CryptoError(`${this.name}: a message was not judged as the baseline judges it`);
    }
    if (authentic && Buffer.compare(out.subarray(0, expected.length), expected) !== 0) {
      throw new CryptoError(`${this.name}: a message was not opened as the baseline opens it`);
    }
    return authentic;
  }
}

/**
 * Checks that an output does not start within its input: ciphers may work in place, but would then overwrite unread
 * input.
 */
function mustNotStraddle(input: Uint8Array, out: Uint8Array): void {
  if (input.buffer !== out.buffer || input.byteOffset === out.byteOffset) return;
  const apart =
    input.byteOffset + input.length <= out.byteOffset ||
    out.byteOffset + out.length <= input.byteOffset;
  if (!apart) throw new CryptoError('the output of a cipher overlaps its input');
}

/**
 * Wraps `subject` with checks: compares every message with `truth`, rejects overlaps, and reports ciphers that were
 * garbage-collected without disposal, with the stack of their creation. Many times slower; for tests and debugging.
 */
export function checkedAead(
  subject: AeadBackend,
  truth: AeadBackend,
  report = (text: string): void => process.emitWarning(text, 'CryptoWarning'),
): AeadBackend {
  const forgotten = forgottenCiphers(report);
  return {
    name: subject.name,
    sealer: (name, key) =>
      new CheckedSealer(subject.sealer(name, key), truth.sealer(name, key), forgotten),
    opener: (name, key) =>
      new CheckedOpener(subject.opener(name, key), truth.opener(name, key), forgotten),
  };
}
