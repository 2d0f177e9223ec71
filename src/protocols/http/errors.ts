import { messageOf } from '../../errors.ts';
import { ProtocolError } from '../../net/errors.ts';

/**
 * A message that is invalid or exceeds a limit of this proxy. `status` is that of the response to a
 * client that sent it; the response for an origin's message is a 502.
 */
export class MessageError extends ProtocolError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The two connections that a forwarded exchange joins. */
export type Side = 'client' | 'origin';

/** Adds the side of an exchange on which `cause` occurred. */
export class SideError extends ProtocolError {
  readonly side: Side;
  override readonly cause: Error;

  constructor(side: Side, cause: unknown) {
    super(`${side}: ${messageOf(cause)}`);
    this.side = side;
    this.cause = cause instanceof Error ? cause : new ProtocolError(messageOf(cause));
  }
}
