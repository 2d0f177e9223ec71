/**
 * Receives the delivery result of its frames (RFC 9000 §13.3). The numbers are those with which the frame was recorded
 * in the `FrameLog`.
 *
 * The listener must accept any order of calls: `onLost` is also called for the oldest packets when a probe is due (RFC
 * 9002 §6.2.4), and `onAcknowledged` for a packet that was declared lost. So `onLost` means "send it again unless it is
 * known to have arrived". `onLost` may be called more than once for one frame of one packet, and may be followed by
 * `onAcknowledged`, but never the reverse.
 */
export interface DeliveryListener {
  onAcknowledged(a: number, b: number, c: number): void;
  onLost(a: number, b: number, c: number): void;
}

/** Records the frames of a packet that need to be acknowledged; see `SentFrames`. */
export interface FrameLog {
  /** Whether the packet has as many frames as can be recorded: no further frame may be written. */
  readonly isPacketFull: boolean;
  add(listener: DeliveryListener, a?: number, b?: number, c?: number): void;
}

/** The owner of a frame, for which a change of the delivery matters as well: a stream. */
export interface DeliveryOwner {
  /** Called when a frame was acknowledged, or is due again. */
  onDelivery(): void;
}

/** The delivery of one frame whose value never changes, such as HANDSHAKE_DONE or RESET_STREAM. */
export class DeliveryFlag implements DeliveryListener {
  readonly #owner: DeliveryOwner | undefined;
  #state: 'idle' | 'due' | 'in-flight' | 'delivered' = 'idle';

  constructor(owner?: DeliveryOwner) {
    this.#owner = owner;
  }

  /** Whether the frame is to be written now. */
  get isDue(): boolean {
    return this.#state === 'due';
  }

  get isDelivered(): boolean {
    return this.#state === 'delivered';
  }

  /** Requests the frame. Without effect after the first call. */
  request(): void {
    if (this.#state === 'idle') this.#state = 'due';
  }

  /** Called when the frame was written into the packet of `log`. */
  onSent(log: FrameLog): void {
    this.#state = 'in-flight';
    log.add(this);
  }

  onAcknowledged(): void {
    this.#state = 'delivered';
    this.#owner?.onDelivery();
  }

  onLost(): void {
    if (this.#state !== 'in-flight') return;
    this.#state = 'due';
    this.#owner?.onDelivery();
  }
}
