import {
  CryptoError,
  TAG_LENGTH,
  type AeadBackend,
  type AeadName,
  type Opener,
  type Sealer,
} from './aead-contract.ts';

/** Where a cipher was created, for the report that it was not disposed of. */
interface Made {
  readonly name: AeadName;
  readonly stack: string;
}

/** The common part of checked ciphers: two ciphers that must agree, and their disposal. */
class Checked<Cipher extends Sealer | Opener> implements Disposable {
  readonly name: AeadName;
  protected readonly subject: Cipher;
  protected readonly witness: Cipher;
  readonly #forgotten: FinalizationRegistry<Made>;
  #open = true;

  constructor(subject: Cipher, witness: Cipher, forgotten: FinalizationRegistry<Made>) {
    this.name = subject.name;
    this.subject = subject;
    this.witness = witness;
    this.#forgotten = forgotten;
    forgotten.register(
      this,
      { name: subject.name, stack: new Error('made here').stack ?? '' },
      this,
    );
  }

  rekey(key: Uint8Array): void {
    this.mustBeOpen();
    this.subject.rekey(key);
    this.witness.rekey(key);
  }

  [Symbol.dispose](): void {
    this.#open = false;
    this.#forgotten.unregister(this);
    this.subject[Symbol.dispose]();
    this.witness[Symbol.dispose]();
  }

  protected mustBeOpen(): void {
    if (!this.#open) throw new CryptoError('a cipher was used after it was closed');
  }
}

class CheckedSealer extends Checked<Sealer> implements Sealer {
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

class CheckedOpener extends Checked<Opener> implements Opener {
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

/** Ciphers may work in place; an output that starts within the input would be read after written. */
function mustNotStraddle(input: Uint8Array, out: Uint8Array): void {
  if (input.buffer !== out.buffer || input.byteOffset === out.byteOffset) return;
  const apart =
    input.byteOffset + input.length <= out.byteOffset ||
    out.byteOffset + out.length <= input.byteOffset;
  if (!apart) throw new CryptoError('the output of a cipher overlaps its input');
}

/**
 * `subject` with checks: every message is compared with `truth`, overlaps are rejected, and a cipher
 * that was collected without disposal is reported with the place where it was created. Many times
 * slower; for tests and for debugging.
 */
export function checkedAead(
  subject: AeadBackend,
  truth: AeadBackend,
  report = (text: string): void => process.emitWarning(text, 'CryptoWarning'),
): AeadBackend {
  const forgotten = new FinalizationRegistry<Made>(({ name, stack }) =>
    report(`a cipher ${name} was never closed\n${stack}`),
  );
  return {
    name: subject.name,
    sealer: (name, key) =>
      new CheckedSealer(subject.sealer(name, key), truth.sealer(name, key), forgotten),
    opener: (name, key) =>
      new CheckedOpener(subject.opener(name, key), truth.opener(name, key), forgotten),
  };
}
