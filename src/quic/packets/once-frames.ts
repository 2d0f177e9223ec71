/** A frame that has to arrive once. */
type Delivery = 'none' | 'due' | 'sent' | 'acknowledged';

const afterLoss = (state: Delivery): Delivery => (state === 'sent' ? 'due' : state);

/** HANDSHAKE_DONE, NEW_TOKEN and PING: frames of the connection that are sent when something asks for them. */
export class OnceFrames {
  #handshakeDone: Delivery = 'none';
  #newToken: Delivery = 'none';
  /** The token of the NEW_TOKEN frame. */
  #token: Uint8Array = new Uint8Array(0);
  /** Whether something ack-eliciting is to be sent; for that, any other frame does as well. */
  isPingDue = false;

  /** Whether there is a frame to send. */
  get isDue(): boolean {
    return this.isPingDue || this.#handshakeDone === 'due' || this.#newToken === 'due';
  }

  requestHandshakeDone(): void {
    this.#handshakeDone = 'due';
  }

  get isHandshakeDoneDue(): boolean {
    return this.#handshakeDone === 'due';
  }

  onHandshakeDoneSent(): void {
    this.#handshakeDone = 'sent';
  }

  onHandshakeDoneAcknowledged(): void {
    this.#handshakeDone = 'acknowledged';
  }

  onHandshakeDoneLost(): void {
    this.#handshakeDone = afterLoss(this.#handshakeDone);
  }

  requestNewToken(token: Uint8Array): void {
    this.#token = token;
    this.#newToken = 'due';
  }

  /** The token to send; `undefined` for none. */
  get tokenDue(): Uint8Array | undefined {
    return this.#newToken === 'due' ? this.#token : undefined;
  }

  onNewTokenSent(): void {
    this.#newToken = 'sent';
  }

  onNewTokenAcknowledged(): void {
    this.#newToken = 'acknowledged';
  }

  onNewTokenLost(): void {
    this.#newToken = afterLoss(this.#newToken);
  }
}
