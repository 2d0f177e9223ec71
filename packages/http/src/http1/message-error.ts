import { ProtocolError } from '@weir/io';

/**
 * A message that is invalid or exceeds a limit of this proxy. `status` is that of the response to the client that sent
 * the message; if an origin sent it, the client gets 502.
 */
export class MessageError extends ProtocolError {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.status = status;
  }
}
