import { CryptoError } from './aead-contract.ts';

/** A cipher and the stack of its creation, for reports that it was not disposed of. */
export interface Made {
  readonly what: string;
  readonly stack: string;
}

/** The common part of checked ciphers: two ciphers whose results must be equal, and their disposal. */
export class Checked<Cipher extends Disposable> implements Disposable {
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
export const forgottenCiphers = (report: (text: string) => void): FinalizationRegistry<Made> =>
  new FinalizationRegistry<Made>(({ what, stack }) => report(`${what} was never closed\n${stack}`));
