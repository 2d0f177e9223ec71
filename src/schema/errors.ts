import { WeirError } from '../errors.ts';
import type { Span } from './node.ts';

/** A value that does not have the shape that is wanted; `span` is where. */
export class DecodeError extends WeirError {
  readonly span: Span;

  constructor(message: string, span: Span, options?: ErrorOptions) {
    super('decode', message, options);
    this.span = span;
  }
}

/** One whose message needs no introduction such as `invalid settings`. */
export class PlainDecodeError extends DecodeError {}

/** Lets several parts of a value be decoded and keeps the error that stands first in the document. */
export class FirstError {
  #first: DecodeError | undefined;

  /** Runs one part; its DecodeError is kept, any other error is a defect and goes on. */
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

  /** @throws {DecodeError} the first one, when there is any. */
  throwIfAny(): void {
    if (this.#first) throw this.#first;
  }
}
