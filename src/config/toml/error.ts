import { WeirError } from '../../errors.ts';
import type { Span } from '../../schema/node.ts';

/** The error of a document that is not TOML; `span` is the first invalid place. */
export class TomlError extends WeirError {
  readonly span: Span;

  constructor(message: string, span: Span, options?: ErrorOptions) {
    super('toml', message, options);
    this.span = span;
  }
}
