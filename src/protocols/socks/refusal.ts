import { WeirError } from '../../errors.ts';

/** A client that is turned away with an answer of its protocol. */
export class SocksRefusal extends WeirError {
  /** What the client is told before the connection ends. */
  readonly answer: Uint8Array;

  constructor(answer: Uint8Array, message: string, options?: ErrorOptions) {
    super('socks_refused', message, options);
    this.answer = answer;
  }
}
