/**
 * The root of every error that Weir raises on purpose.
 *
 * `code` is stable and meant for programs (tests, the API, exit statuses); `message` is meant for
 * users. `cause` keeps the error of the operating system or a library.
 */
export class WeirError extends Error {
  readonly code: string;
  readonly #hint: WeirErrorOptions['hint'];

  constructor(code: string, message: string, options?: WeirErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
    this.#hint = options?.hint;
  }

  /** What helps on where `message` is a fixed text: a line, or several. */
  get hint(): string | undefined {
    return typeof this.#hint === 'function' ? this.#hint() : this.#hint;
  }
}

/** An error whose codes are a closed set, so that their handlers can be exhaustive. */
export class CodedError<Code extends string> extends WeirError {
  declare readonly code: Code;

  constructor(code: Code, message: string, options?: WeirErrorOptions) {
    super(code, message, options);
  }
}

export interface WeirErrorOptions extends ErrorOptions {
  /** A function where it takes long to make: it is called for errors that are reported. */
  readonly hint?: string | (() => string | undefined) | undefined;
}

/** Causes beyond this depth are not looked at. */
const MOST_CAUSES = 16;

/** The hints of an error and of its causes, a line each. */
export function hintsOf(error: unknown): readonly string[] {
  const hints = new Set<string>();
  let at = error;
  for (let depth = 0; depth < MOST_CAUSES && at instanceof Error; depth++) {
    if (at instanceof WeirError) {
      for (const line of at.hint?.split('\n') ?? []) hints.add(line);
    }
    at = at.cause;
  }
  return [...hints];
}

/** The text of anything that was thrown, for log lines and for messages that quote a cause. */
export function messageOf(error: unknown): string {
  if (error instanceof AggregateError && error.message === '' && error.errors.length > 0) {
    return messageOf(error.errors[0]);
  }
  return error instanceof Error ? error.message : String(error);
}

/** Anything that was thrown, as an Error: itself, or one whose message is its text. */
export const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));

/** The `code` of a Node system error (`ECONNREFUSED`) or of a WeirError, when there is one. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
