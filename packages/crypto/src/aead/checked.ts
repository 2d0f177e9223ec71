import {
  type AeadBackend,
  type AeadName,
  CryptoError,
  type HeaderMasks,
  MASK_LENGTH,
  type Opener,
  type PacketCipherBackend,
  type PacketCipherName,
  type PacketOpening,
  type PacketSealing,
  type Sealer,
  TAG_LENGTH,
} from './contract.ts';

/** A cipher and the stack of its creation, for reports that it was not disposed of. */
interface Made {
  readonly what: string;
  readonly stack: string;
}

/** The common part of checked ciphers: two ciphers whose results must be equal, and their disposal. */
class Checked<Cipher extends Disposable> implements Disposable {
  protected readonly subject: Cipher;
  protected readonly witness: Cipher;
  readonly #forgotten: FinalizationRegistry<Made>;
  #open = true;

  constructor(
    what: string,
    subject: Cipher,
    witness: Cipher,
    forgotten: FinalizationRegistry<Made>,
  ) {
    this.subject = subject;
    this.witness = witness;
    this.#forgotten = forgotten;
    forgotten.register(this, { what, stack: new Error('made here').stack ?? '' }, this);
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

/**
 * Creates a registry that reports ciphers which were garbage-collected without disposal, with the stack of their
 * creation.
 */
const forgottenCiphers = (report: (text: string) => void): FinalizationRegistry<Made> =>
  new FinalizationRegistry<Made>(({ what, stack }) => report(`${what} was never closed\n${stack}`));

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
