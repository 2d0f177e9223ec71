/**
 * The base class of all errors that Weir raises on purpose.
 *
 * `code` is stable, for programs (tests, the API, exit statuses); `message` is for users. `cause`
 * is the error of the operating system or a library.
 */
export class WeirError extends Error {
  /** A stable word for programs. */
  readonly code: string;
  readonly #hint: WeirErrorOptions['hint'];

  constructor(code: string, message: string, options?: WeirErrorOptions) {
    super(message, options);
    // esbuild names a class that refers to itself `_Name`.
    this.name = new.target.name.replace(/^_/, '');
    this.code = code;
    this.#hint = options?.hint;
  }

  /**
   * Advice for the user in addition to `message`, which may be a specified text: one or more lines.
   */
  get hint(): string | undefined {
    return typeof this.#hint === 'function' ? this.#hint() : this.#hint;
  }
}

/** Invalid arguments of a command. */
export class UsageError extends WeirError {
  constructor(message: string) {
    super('usage', message);
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
  /** The hint, or a function where it is costly to compute: called only for errors that are reported. */
  readonly hint?: string | (() => string | undefined) | undefined;
}

/** Causes beyond this depth are ignored. */
const MOST_CAUSES = 16;

/** An error and its causes, the outermost first. */
function* withCauses(error: unknown): Generator<Error> {
  let at = error;
  for (let depth = 0; depth < MOST_CAUSES && at instanceof Error; depth++) {
    yield at;
    at = at.cause;
  }
}

/**
 * Drops the stacks of an error and of its causes, for an error that is kept: V8 keeps the functions of the frames, and
 * with their closures flows and buffers, alive until the text of a stack is first read.
 */
export function dropStacks(error: Error): void {
  for (const each of withCauses(error)) each.stack = `${each.name}: ${each.message}`;
}

/** The hints of an error and of its causes, one line each. */
export function hintsOf(error: unknown): readonly string[] {
  const hints = new Set<string>();
  for (const each of withCauses(error)) {
    if (!(each instanceof WeirError)) continue;
    for (const line of each.hint?.split('\n') ?? []) hints.add(line);
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

/** A thrown value as an Error: itself, or a new Error with its text. */
export const asError = (thrown: unknown): Error =>
  thrown instanceof Error ? thrown : new Error(String(thrown));

/** The `code` of a Node system error (`ECONNREFUSED`) or of a WeirError, if any. */
export function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
