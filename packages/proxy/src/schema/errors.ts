import { WeirError, type WeirErrorOptions } from '@weir/base';
import type { Span } from './node.ts';

/** A value that a decoder rejects; `span` is its place. */
export class DecodeError extends WeirError {
  readonly span: Span;

  constructor(message: string, span: Span, options?: WeirErrorOptions) {
    super('decode', message, options);
    this.span = span;
  }
}

/** A DecodeError whose message gets no prefix such as `invalid settings`. */
export class PlainDecodeError extends DecodeError {}

/** Collects errors of several parts of a value, and keeps the first in document order. */
export class FirstError {
  #first: DecodeError | undefined;

  /** Runs one part and keeps its DecodeError; any other error is a defect and is rethrown. */
  attempt(part: () => void): void {
    try {
      part();
    } catch (error) {
      if (!(error instanceof DecodeError)) throw error;
      this.add(error);
    }
  }

  add(error: DecodeError): void {
    if (!this.#first || error.span.start < this.#first.span.start) this.#first = error;
  }

  /**
   * Throws the first collected error, if any.
   * @throws {DecodeError}
   */
  throwIfAny(): void {
    if (this.#first) throw this.#first;
  }
}
