import { type ReceivedDatagrams, blankEndpoint, type IpEndpoint } from '@weir/base/ip';
import type { SystemCalls } from '../bindings.ts';
import {
  BATCH,
  type BatchSocket,
  CONTROL_WORDS,
  getControl,
  getReportedError,
  MESSAGE_WORDS,
  MessageHeaders,
  NAME_WORDS,
  type ReceiveControl,
} from './control-messages.ts';
import { MSG_DONTWAIT, MSG_ERRQUEUE, MSG_TRUNC } from '../linux.ts';
import type { NativeMemory } from '../../native-memory.ts';
import { getEndpoint } from '../sockaddr.ts';

/** The largest UDP payload is 65,527 bytes; coalesced datagrams (GRO) come in at most 64 KB. */
const SLOT = 64 << 10;

/**
 * Receives batches of datagrams (`recvmmsg`) for all sockets of a thread, without allocations per
 * datagram.
 */
export class DatagramReceiver {
  /** Number of bytes that the last `receive` passed to `visit`. */
  received = 0;
  readonly #calls: SystemCalls;
  readonly #payload: NativeMemory;
  readonly #headers: MessageHeaders;
  readonly #control: ReceiveControl = {
    stride: 0,
    ecn: 0,
    hasOwn: false,
    own: blankEndpoint(),
    overflow: undefined,
  };
  readonly #peer = blankEndpoint();
  readonly #record: { -readonly [key in keyof ReceivedDatagrams]: ReceivedDatagrams[key] };

  constructor(calls: SystemCalls) {
    this.#calls = calls;
    this.#payload = calls.memory(BATCH * SLOT);
    this.#headers = new MessageHeaders(calls, BATCH);
    for (let i = 0; i < BATCH; i++) {
      this.#headers.setVector(i, this.#payload.at + i * SLOT, SLOT);
      this.#headers.setVectors(i, i, 1);
    }
    this.#record = {
      peer: this.#peer,
      buffer: this.#payload.bytes,
      offset: 0,
      length: 0,
      stride: 0,
      own: undefined,
      ecn: 0,
    };
  }

  /**
   * Receives up to BATCH buffers of datagrams and passes them to `visit` in order, while the socket
   * is open. `visit` must not call `receive`.
   * @returns the number of buffers, or the negative error number; `-EAGAIN` if there are none.
   */
  receive(socket: BatchSocket, visit: (received: ReceivedDatagrams) => void): number {
    const { messages } = this.#headers;
    this.#headers.clear();
    this.received = 0;
    const count = this.#calls.recvmmsg(socket.fd, messages.at, BATCH, MSG_DONTWAIT, 0);
    if (count < 0) return -this.#calls.errno();
    for (let i = 0; i < count && socket.fd >= 0; i++)
      if (this.#read(socket, i)) visit(this.#record);
    return count;
  }

  /**
   * Takes up to BATCH reports of ICMP about sent datagrams from the socket's error queue, and passes their destinations
   * and error numbers to `visit`.
   */
  receiveErrors(
    socket: BatchSocket,
    visit: (destination: IpEndpoint, error: number) => void,
  ): void {
    const { messages, controls, names } = this.#headers;
    this.#headers.clear();
    const flags = MSG_DONTWAIT | MSG_ERRQUEUE;
    const count = this.#calls.recvmmsg(socket.fd, messages.at, BATCH, flags, 0);
    for (let i = 0; i < count && socket.fd >= 0; i++) {
      const length = messages.words[i * MESSAGE_WORDS + 10] as number; // within
      const error = getReportedError(controls.words, i * CONTROL_WORDS, length);
      if (error !== 0 && getEndpoint(names.words, i * NAME_WORDS, this.#peer))
        visit(this.#peer, error);
    }
  }

  /** Fills the record from a received message; returns false for one to be skipped. */
  #read(socket: BatchSocket, index: number): boolean {
    const { messages, controls, names } = this.#headers;
    const message = index * MESSAGE_WORDS;
    const control = this.#control;
    const record = this.#record;
    const controlLength = messages.words[message + 10] as number; // within, as below
    getControl(controls.words, index * CONTROL_WORDS, controlLength, control);
    if (control.overflow !== undefined) socket.overflowed = control.overflow;
    if ((messages.words[message + 12] as number) & MSG_TRUNC) return false;
    if (!getEndpoint(names.words, index * NAME_WORDS, this.#peer)) return false;
    const length = messages.words[message + 14] as number;
    this.received += length;
    record.offset = index * SLOT;
    record.length = length;
    record.stride = control.stride > 0 && control.stride < length ? control.stride : length;
    record.own = control.hasOwn ? control.own : undefined;
    control.own.port = socket.port;
    record.ecn = control.ecn;
    return true;
  }
}
