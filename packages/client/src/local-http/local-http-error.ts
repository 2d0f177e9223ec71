import { WeirError, type WeirErrorOptions } from '@weir/base';

/** A request that fails with an error response: `code` and `message` are sent to the client. */
export class LocalHttpError extends WeirError {
  /** HTTP status, 4xx or 5xx. */
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;

  constructor(
    status: number,
    code: string,
    message: string,
    options?: WeirErrorOptions & { readonly headers?: Readonly<Record<string, string>> },
  ) {
    super(code, message, options);
    this.status = status;
    this.headers = options?.headers ?? {};
  }
}
