import { WeirError, type WeirErrorOptions } from '@weir/base';
import type { JsonValue } from './shared/protocol.ts';

/** HTTP statuses by error code; every other code is sent as 422. */
const STATUSES: Readonly<Record<string, number>> = {
  'bad-request': 400,
  'read-only': 403,
  'not-found': 404,
  conflict: 409,
  busy: 429,
};

/** An action or a topic that has no result; the page receives the code, message, hints and details. */
export class ActionError extends WeirError {
  readonly details: JsonValue | undefined;

  /** @param code stable, for the page: `bad-request`, `conflict`, `refused` … */
  constructor(
    code: string,
    message: string,
    options?: WeirErrorOptions & { readonly details?: JsonValue },
  ) {
    super(code, message, options);
    this.details = options?.details;
  }

  /** The status of the response. */
  get status(): number {
    return STATUSES[this.code] ?? 422;
  }
}
