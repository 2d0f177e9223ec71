import { messageOf } from '../../errors.ts';
import { ProtocolError } from '../../net/errors.ts';

/**
 * A message that breaks HTTP's rules or this proxy's limits. `status` is what a client that sent it
 * is answered with; of an origin's message it is the 502 of whoever forwards it.
 */
export class MessageError extends ProtocolError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}

/** The two conversations that a forwarded exchange joins. */
export type Side = 'client' | 'origin';

/** Tells on which side of an exchange something failed; `cause` is what failed. */
export class SideError extends ProtocolError {
  readonly side: Side;
  override readonly cause: Error;

  constructor(side: Side, cause: unknown) {
    super(`${side}: ${messageOf(cause)}`);
    this.side = side;
    this.cause = cause instanceof Error ? cause : new ProtocolError(messageOf(cause));
  }
}
