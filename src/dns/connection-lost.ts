import { messageOf, WeirError } from '../errors.ts';
import { DeadlineError } from '../net/errors.ts';

/** The connection went away before the answer came: it may be asked again on another one. */
export class ConnectionLostError extends WeirError {
  constructor(cause?: unknown) {
    const code = cause instanceof DeadlineError ? 'timed_out' : 'connection_lost';
    super(code, cause === undefined ? 'the connection was closed' : messageOf(cause), { cause });
  }
}
