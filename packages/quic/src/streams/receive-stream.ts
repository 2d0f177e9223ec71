import { QuicError, TransportErrorCode } from '../errors.ts';
import { type DeliveryOwner, DeliveryFlag, type FrameLog } from '../recovery/delivery.ts';
import { FrameType, type FrameError } from '../wire/frame-types.ts';
import { twoNumbersSize, writeTwoNumbers } from '../wire/frame-writers.ts';
import { type ConnectionReceiveWindow, type Pace, FlowControlWindow } from './flow-control.ts';
import type { StreamGrants } from './grants.ts';
import { StreamReassembly } from './stream-reassembly.ts';

const { FINAL_SIZE_ERROR, FLOW_CONTROL_ERROR } = TransportErrorCode;

/** The states of the receiving part of a stream (RFC 9000 §3.2). */
type ReceiveState =
  | 'receiving'
  | 'size-known'
  | 'data-received'
  | 'data-read'
  | 'reset-received'
  | 'reset-read';

/** The result of `read` at the end of a stream. */
export const END_OF_STREAM = 'end';

/** The receiving part of a stream: order, final size, flow control. */
export class ReceiveStream {
  readonly #connection: ConnectionReceiveWindow;
  readonly #window: FlowControlWindow;
  readonly #data = new StreamReassembly();
  readonly #firstWindow: number;
  /** Growth of the window in bytes, as counted by the connection. */
  #growth = 0;
  #state: ReceiveState = 'receiving';
  /** The largest offset received, which flow control counts (§4.1). */
  #highest = 0;
  #consumed = 0;
  /** The final size (§4.5); -1 until FIN or RESET_STREAM arrives. */
  #finalSize = -1;
  #isResetReported = false;
  #stopCode: number | undefined;
  /** The delivery of STOP_SENDING. */
  #stop: DeliveryFlag | undefined;
  readonly #owner: DeliveryOwner | undefined;

  constructor(
    {
      streamWindow,
      provenStreamWindow,
      maxStreamWindow,
    }: Pick<StreamGrants, 'streamWindow' | 'provenStreamWindow' | 'maxStreamWindow'>,
    connection: ConnectionReceiveWindow,
    pace: Pace,
    owner: DeliveryOwner,
  ) {
    this.#owner = owner;
    this.#window = new FlowControlWindow(
      streamWindow,
      maxStreamWindow,
      pace,
      provenStreamWindow,
      owner,
    );
    this.#firstWindow = streamWindow;
    this.#connection = connection;
  }

  get state(): ReceiveState {
    return this.#state;
  }

  /** Whether `read` would return bytes or the end. */
  get isReadable(): boolean {
    if (this.#stopCode !== undefined) return false;
    return this.#state === 'data-received' || this.#data.readable > 0;
  }

  /** Whether the receiving part has ended: the application has read the end, or has stopped reading. */
  get isDone(): boolean {
    if (this.#state === 'data-read' || this.#state === 'reset-read') return true;
    return this.#stopCode !== undefined && this.#finalSize >= 0;
  }

  /** Memory for received bytes. */
  get memory(): number {
    return this.#data.memory;
  }

  /** Handles a STREAM frame (§19.8). */
  receive(offset: number, bytes: Uint8Array, at: number, size: number, fin: boolean): FrameError {
    const error = this.#extend(offset + size, fin, FrameType.STREAM);
    if (error) return error;
    if (this.#stopCode !== undefined) {
      this.#consume(this.#highest, 0);
      return undefined;
    }
    switch (this.#state) {
      case 'receiving':
      case 'size-known':
        this.#insert(offset, bytes, at, size);
        if (this.#data.received === this.#finalSize) this.#state = 'data-received';
        else if (fin) this.#state = 'size-known';
        return undefined;
      case 'data-received':
      case 'data-read':
      case 'reset-received':
      case 'reset-read':
        return undefined; // a retransmission
      default:
        return this.#state satisfies never;
    }
  }

  /** Handles a RESET_STREAM frame (§19.4). Data received in order can still be read. */
  reset(finalSize: number): FrameError {
    const error = this.#extend(finalSize, true, FrameType.RESET_STREAM);
    if (error) return error;
    switch (this.#state) {
      case 'receiving':
      case 'size-known':
        this.#state = 'reset-received';
        this.#releaseGrowth();
        this.#endReset();
        return undefined;
      case 'data-received':
      case 'data-read': // all data was received: the reset may be ignored (§3.2)
      case 'reset-received':
      case 'reset-read':
        return undefined;
      default:
        return this.#state satisfies never;
    }
  }

  /** Returns the next bytes in order, `END_OF_STREAM` after the last, `undefined` when there are none now. */
  read(): Uint8Array | typeof END_OF_STREAM | undefined {
    if (this.#state === 'data-read') return END_OF_STREAM;
    if (this.#stopCode !== undefined) return undefined;
    const chunk = this.#data.take();
    if (chunk) {
      this.#consume(this.#data.readOffset, chunk.length);
      if (this.#state === 'reset-received') this.#endReset();
      return chunk;
    }
    if (this.#state !== 'data-received') return undefined;
    this.#state = 'data-read';
    this.#releaseGrowth();
    return END_OF_STREAM;
  }

  /** Called when the peer's reset was reported to the application: "Reset Read" (§3.2), once the rest has been read. */
  acknowledgeReset(): void {
    this.#isResetReported = true;
    if (this.#state === 'reset-received') this.#endReset();
  }

  /** After a reset: drops unreadable data, once the rest was read. */
  #endReset(): void {
    if (this.#data.readable > 0) return;
    this.#discard();
    if (this.#isResetReported) this.#state = 'reset-read';
  }

  /** Discards all further data, and requests STOP_SENDING unless the final size is known (§3.5). */
  stop(code: number): void {
    if (this.#stopCode !== undefined || this.isDone) return;
    this.#stopCode = code;
    this.#stop = new DeliveryFlag(this.#owner);
    this.#stop.request();
    this.#discard();
    this.#releaseGrowth();
  }

  /** Whether a control frame is due. */
  get hasControl(): boolean {
    return this.#isStopDue() || this.#isLimitDue();
  }

  /** Writes STOP_SENDING (§19.5) or MAX_STREAM_DATA (§19.10), if it is due and fits. */
  writeControl(id: number, out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    if (log.isPacketFull) return at;
    if (this.#isStopDue()) {
      const code = this.#stopCode ?? 0;
      if (at + twoNumbersSize(id, code) > limit) return at;
      this.#stop?.onSent(log);
      return writeTwoNumbers(out, at, FrameType.STOP_SENDING, id, code);
    }
    if (!this.#isLimitDue() || at + twoNumbersSize(id, this.#window.next) > limit) return at;
    const granted = this.#window.announce(log);
    return writeTwoNumbers(out, at, FrameType.MAX_STREAM_DATA, id, granted);
  }

  /** Whether STOP_SENDING is due: it is useless once the final size is known (§3.5). */
  #isStopDue(): boolean {
    return this.#stop?.isDue === true && this.#finalSize < 0;
  }

  /** Whether MAX_STREAM_DATA is due: not once the final size is known, or the stream is not read any more. */
  #isLimitDue(): boolean {
    return this.#wantsMore() && this.#window.isUpdateDue(this.#highest, -1);
  }

  /** The limit that the next MAX_STREAM_DATA would have. */
  get nextLimit(): number {
    return this.#window.next;
  }

  /** Handles STREAM_DATA_BLOCKED (§19.13). */
  requestLimit(): void {
    this.#window.request();
  }

  #wantsMore(): boolean {
    return this.#state === 'receiving' && this.#stopCode === undefined;
  }

  /** Checks a frame that ends at `end` against the final size (§4.5) and the limits (§4.1). */
  #extend(end: number, final: boolean, type: number): FrameError {
    if (this.#finalSize >= 0 && (end > this.#finalSize || (final && end < this.#finalSize))) {
      return new QuicError(FINAL_SIZE_ERROR, 'the final size of a stream has changed', type);
    }
    if (final && end < this.#highest) {
      return new QuicError(
        FINAL_SIZE_ERROR,
        'a final size below what was sent of the stream',
        type,
      );
    }
    if (end > this.#highest) {
      const count = end - this.#highest;
      if (end > this.#window.announced) {
        return new QuicError(FLOW_CONTROL_ERROR, 'more on a stream than its limit allows', type);
      }
      if (!this.#connection.allows(count)) {
        return new QuicError(
          FLOW_CONTROL_ERROR,
          'more on all streams than their limit allows',
          type,
        );
      }
      this.#highest = end;
      this.#connection.arrived(count);
    }
    if (final) this.#finalSize = end;
    return undefined;
  }

  #insert(offset: number, bytes: Uint8Array, at: number, size: number): void {
    const before = this.#data.received;
    this.#data.insert(offset, bytes, at, size);
    this.#connection.ordered(this.#data.received - before);
  }

  #discard(): void {
    const { readable } = this.#data;
    this.#data.clear();
    this.#consume(this.#highest, readable);
  }

  /** @param readable the number of bytes before `offset` that were readable until now. */
  #consume(offset: number, readable: number): void {
    const count = offset - this.#consumed;
    if (count === 0) return;
    this.#consumed = offset;
    this.#window.release(count);
    if (this.#wantsMore()) this.#measure(count);
    this.#connection.consumed(count, readable);
  }

  /** Lets the window grow as far as the budget of the connection allows. */
  #measure(count: number): void {
    const room = this.#firstWindow + this.#connection.growthRoom(this.#growth);
    this.#window.consumed(count, this.#data.readable, room);
    const growth = this.#window.size - this.#firstWindow;
    if (growth === this.#growth) return;
    this.#connection.grown(this.#growth, growth);
    this.#growth = growth;
  }

  /** Releases the growth of a stream that keeps no more data, for others. */
  #releaseGrowth(): void {
    this.#connection.grown(this.#growth, 0);
    this.#growth = 0;
  }
}
