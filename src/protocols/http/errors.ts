import { messageOf } from '../../errors.ts';
import { ProtocolError } from '../../net/errors.ts';

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
