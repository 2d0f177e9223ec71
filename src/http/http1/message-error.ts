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
