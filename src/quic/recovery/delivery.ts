/**
 * Receives what became of a frame that it has sent (RFC 9000 §13.3). The numbers are those with which it
 * recorded the frame in the `FrameLog`.
 *
 * It must accept any order of calls: `onLost` is also called for the oldest packets when a probe is due
 * (RFC 9002 §6.2.4), and `onAcknowledged` for a packet that was declared lost. So `onLost` means "send it
 * again unless it is known to have arrived". It may be called more than once for one frame of one packet,
 * and may be followed by `onAcknowledged`, but never the reverse.
 */
export interface DeliveryListener {
  onAcknowledged(a: number, b: number, c: number): void;
  onLost(a: number, b: number, c: number): void;
}

/** Where the writer of a packet records the frames that need to be acknowledged; see `SentFrames`. */
export interface FrameLog {
  /** Whether the packet has as many frames as can be recorded: no further frame may be written. */
  readonly isPacketFull: boolean;
  add(listener: DeliveryListener, a?: number, b?: number, c?: number): void;
}

/** What a frame belongs to, where a change of its delivery matters to more than the frame: a stream. */
export interface DeliveryOwner {
  /** A frame was acknowledged, or is due again. */
  onDelivery(): void;
}

/** The delivery of one frame without a value that changes, such as HANDSHAKE_DONE or RESET_STREAM. */
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

  /** The frame is to be sent. Without effect after the first call. */
  request(): void {
    if (this.#state === 'idle') this.#state = 'due';
  }

  /** The frame was written into the packet of `log`. */
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
