import { ControlError } from '../api/contract.ts';
import { ConfigError, DocumentReadError } from '../config/errors.ts';
import { messageOf } from '../errors.ts';
import { ApplyError } from '../supervisor/apply-error.ts';

/**
 * What went wrong, as whoever asked for it is told.
 *
 * What the author of the files can mend is `invalid`; what only the surroundings can (a file that
 * cannot be read, an address in use, a process that is stopping) is `failed`.
 */
export function toControlError(error: unknown): ControlError {
  if (error instanceof ControlError) return error;
  return new ControlError(isInvalid(error) ? 'invalid' : 'failed', messageOf(error), {
    cause: error,
  });
}

/** The same for reading the files as they are: what could not be read is named by the path. */
export function toReadError(error: unknown, path: string | undefined): ControlError {
  if (!(error instanceof DocumentReadError) || path === undefined) return toControlError(error);
  const code = isInvalid(error) ? 'invalid' : 'failed';
  return new ControlError(code, `${path}: ${error.message}`, { cause: error });
}

function isInvalid(error: unknown): boolean {
  if (error instanceof ConfigError) return error.kind === 'invalid';
  if (error instanceof ApplyError) return error.code !== 'bind' && error.code !== 'stopped';
  return false;
}
