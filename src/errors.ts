/**
 * The root of every error that Weir raises on purpose.
 *
 * `code` is stable and meant for programs (tests, the API, exit statuses); `message` is meant for
 * users. `cause` keeps the error of the operating system or a library.
 */
export class WeirError extends Error {
  readonly code: string;

  constructor(code: string, message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = new.target.name;
    this.code = code;
  }
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
