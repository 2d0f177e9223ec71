import { WeirError } from '../errors.ts';

/**
 * Why a well-formed configuration was not applied. `bind` and `stopped` are caused by the system and by a
 * stop, the others by the configuration.
 */
export type ApplyErrorCode =
  | 'bind'
  | 'stopped'
  | 'duplicate_tag'
  | 'unknown_reference'
  | 'bad_balancer'
  | 'invalid_resource'
  | 'build_failed'
  | 'disruptive';

export class ApplyError extends WeirError {
  declare readonly code: ApplyErrorCode;

  constructor(code: ApplyErrorCode, message: string, options?: ErrorOptions) {
    super(code, message, options);
  }
}
