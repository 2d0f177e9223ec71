import { CodedError, type WeirErrorOptions } from '@weir/base';
import { printable } from '@weir/base/printable';

/**
 * The reason why a well-formed configuration was not applied. `bind` is caused by the system, `stopped` by a stop,
 * `draining` by a drain, the others by the configuration.
 */
export type ApplyErrorCode =
  | 'bind'
  | 'stopped'
  | 'draining'
  | 'duplicate_tag'
  | 'unknown_reference'
  | 'bad_balancer'
  | 'invalid_resource'
  | 'build_failed'
  | 'disruptive';

export class ApplyError extends CodedError<ApplyErrorCode> {
  /** @param message may quote tags and foreign texts: it is escaped into one line */
  constructor(code: ApplyErrorCode, message: string, options?: WeirErrorOptions) {
    super(code, printable(message), options);
  }
}
