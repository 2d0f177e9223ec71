import { CodedError } from '../errors.ts';

/**
 * Why a configuration that is well-formed was not applied. `bind` and `stopped` are failures of the
 * surroundings, the others of the configuration.
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

export class ApplyError extends CodedError<ApplyErrorCode> {}
