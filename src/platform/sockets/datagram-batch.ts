import type { SystemCalls } from './bindings.ts';
import {
  CONTROL_LENGTH,
  getControl,
  putControl,
  type Ecn,
  type ReceiveControl,
} from './control-messages.ts';
import { SystemError } from './errno.ts';
import { textFamily } from './ip-text.ts';
import { AF_INET6, EAGAIN, EINVAL, EIO, MSG_DONTWAIT, MSG_TRUNC } from './linux.ts';
import { putWord64, type NativeMemory } from './memory.ts';
import { getIpAddress, putIpAddress, type IpAddress, type SocketAddresses } from './sockaddr.ts';

/** Datagrams of one call. */
export const BATCH = 64;
/** The largest UDP payload is 65,527 bytes; coalesced datagrams (GRO) come in at most 64 KB. */
const SLOT = 64 << 10;
/** `UDP_MAX_SEGMENTS` of older kernels, and the payload that one IPv4 packet can have. */
const MAX_SEGMENTS = 64;
const MAX_PAYLOAD = 65_507;

/** `struct mmsghdr` in words: name 0, namelen 2, iov 4, iovlen 6, control 8, controllen 10, flags 12, len 14. */
const MESSAGE_WORDS = 16;
/** `struct iovec` in words. */
const VECTOR_WORDS = 4;
/** Room for a `sockaddr_in6`, aligned. */
const NAME = 32;

/** One datagram to send, or several of one size to one peer in one buffer. */
export interface Transmit {
  readonly destination: IpAddress;
  readonly bytes: Uint8Array;
  /** The size of each datagram in `bytes` but the last, which may be shorter; one when left out. */
  readonly segmentSize?: number | undefined;
  /** The own IP address that it leaves from; the kernel chooses when left out. */
  readonly source?: string | undefined;
  readonly ecn?: Ecn | undefined;
}

/** What was received, valid within the call that it is handed to. */
export interface ReceivedDatagram {
  /** One datagram, or several of `stride` bytes from one peer behind each other: */
  readonly buffer: Buffer;
  /** where they begin in `buffer`, */
  readonly start: number;
  /** and their length in bytes. */
  readonly length: number;
  /** The size of each datagram but the last, which may be shorter. */
  readonly stride: number;
  /** IPv4-mapped addresses are unmapped. The same object for successive datagrams of one peer. */
  readonly from: IpAddress;
  /** The own address that it was sent to, where the socket asks for it. */
  readonly own: string | undefined;
  readonly ecn: Ecn;
}

/** A socket, for the calls of a batch. */
export interface BatchSocket {
  readonly fd: number;
  readonly family: number;
  /** UDP_SEGMENT works; cleared for good by the first error that blames it. */
  offload: boolean;
  /** The queue overflow counter of the kernel (SO_RXQ_OVFL). */
  overflow: number;
}

/** How far a batch came. */
export interface SendResult {
  /** Transmits that need no further attention. */
  readonly done: number;
  /** Bytes of the next transmit that need none: datagrams of it were sent. */
  readonly offset: number;
  /** Datagrams that the kernel refused, one by one. */
  readonly failed: number;
  /** Whether the socket's buffer is full: the rest can be sent when it is writable. */
  readonly full: boolean;
}

/** What an outgoing message carries. */
interface Piece {
  /** The transmit, and where in its bytes the message begins. */
  index: number;
  offset: number;
  /** Datagrams. */
  segments: number;
}

/**
 * Slots for batches of datagrams, shared by all sockets of a thread: `recvmmsg` and `sendmmsg` with
 * their addresses and control messages.
 */
export class DatagramBatch {
  readonly #calls: SystemCalls;
  readonly #addresses: SocketAddresses;
  readonly #incoming: Slots;
  readonly #outgoing: Slots;
  readonly #control: ReceiveControl = { stride: 0, ecn: 0, own: undefined, overflow: undefined };
  readonly #datagram: { -readonly [key in keyof ReceivedDatagram]: ReceivedDatagram[key] };
  readonly #lastName = new Uint32Array(NAME / 4);
  readonly #pieces: readonly Piece[] = Array.from({ length: BATCH }, () => ({
    index: 0,
    offset: 0,
    segments: 0,
  }));

  constructor(calls: SystemCalls, addresses: SocketAddresses) {
    this.#calls = calls;
    this.#addresses = addresses;
    this.#incoming = new Slots(calls);
    this.#outgoing = new Slots(calls);
    this.#datagram = {
      buffer: this.#incoming.payload.bytes,
      start: 0,
      length: 0,
      stride: 0,
      from: { host: '', port: 0 },
      own: undefined,
      ecn: 0,
    };
  }

  /**
   * Receives up to BATCH buffers of datagrams and hands them on, in order. `visit` must not receive
   * in turn, and the object that it gets is used again.
   *
   * @returns their number, or the negative error number; `-EAGAIN` when there is nothing.
   */
  receive(socket: BatchSocket, visit: (datagram: ReceivedDatagram) => void): number {
    const { messages } = this.#incoming;
    this.#incoming.clear();
    const count = this.#calls.recvmmsg(socket.fd, messages.at, BATCH, MSG_DONTWAIT, 0);
    if (count < 0) return -this.#calls.errno();
    for (let i = 0; i < count; i++) this.#visit(socket, i, visit);
    return count;
  }

  /**
   * Sends transmits in order, as many datagrams with a call as fit.
   *
   * A datagram that the kernel refuses costs itself only. Where UDP_SEGMENT does not work, buffers
   * of several datagrams are sent one by one from then on.
   *
   * @param offset bytes of the first transmit that were sent before (`SendResult.offset`).
   */
  send(socket: BatchSocket, transmits: readonly Transmit[], offset = 0): SendResult {
    const next = { index: 0, offset };
    let failed = 0;
    while (next.index < transmits.length) {
      const { count, unfit } = this.#fill(socket, transmits, next);
      failed += unfit;
      for (let sent = 0; sent < count;) {
        const at = this.#outgoing.messages.at + sent * MESSAGE_WORDS * 4;
        const result = this.#calls.sendmmsg(socket.fd, at, count - sent, MSG_DONTWAIT);
        if (result > 0) {
          sent += result;
          continue;
        }
        const error = this.#calls.errno();
        const piece = this.#pieces[sent] as Piece; // within
        if (error === EAGAIN) {
          return { done: piece.index, offset: piece.offset, failed, full: true };
        }
        if (piece.segments > 1 && socket.offload && (error === EIO || error === EINVAL)) {
          // No checksum offload at this device, or no UDP_SEGMENT at all: from here on one by one.
          socket.offload = false;
          next.index = piece.index;
          next.offset = piece.offset;
          break;
        }
        failed += piece.segments;
        sent++;
      }
    }
    return { done: transmits.length, offset: 0, failed, full: false };
  }

  /** Prepares messages from `next` on, which is moved behind them. */
  #fill(
    socket: BatchSocket,
    transmits: readonly Transmit[],
    next: { index: number; offset: number },
  ): { readonly count: number; readonly unfit: number } {
    let [count, unfit] = [0, 0];
    while (count < BATCH && next.index < transmits.length) {
      const transmit = transmits[next.index] as Transmit; // within
      const { length } = transmit.bytes;
      const size = transmit.segmentSize ?? length;
      const whole = size >= length ? 1 : Math.min(MAX_SEGMENTS, Math.floor(MAX_PAYLOAD / size));
      const end = Math.min(length, next.offset + size * (socket.offload ? Math.max(whole, 1) : 1));
      const segments = size === 0 ? 1 : Math.max(1, Math.ceil((end - next.offset) / size));
      if (size <= 0 && length > 0) unfit++;
      else if (this.#put(socket, count, transmit, next.offset, end, segments)) {
        const piece = this.#pieces[count] as Piece; // within
        piece.index = next.index;
        piece.offset = next.offset;
        piece.segments = segments;
        count++;
      } else unfit += segments;
      next.offset = end;
      if (end >= length || size <= 0) {
        next.index++;
        next.offset = 0;
      }
    }
    return { count, unfit };
  }

  /** Prepares one message; false for an address that the socket does not reach. */
  #put(
    socket: BatchSocket,
    index: number,
    { destination, bytes, source, ecn = 0, segmentSize = 0 }: Transmit,
    start: number,
    end: number,
    segments: number,
  ): boolean {
    if (end - start > SLOT) return false;
    const { names, payload, controls, vectors, messages } = this.#outgoing;
    const { zoneIndex } = this.#addresses;
    let nameLength: number;
    try {
      nameLength = putIpAddress(names.bytes, index * NAME, destination, socket.family, zoneIndex);
    } catch (error) {
      if (error instanceof SystemError) return false;
      throw error;
    }
    payload.bytes.set(
      start === 0 && end === bytes.length ? bytes : bytes.subarray(start, end),
      index * SLOT,
    );
    vectors.words[index * VECTOR_WORDS + 2] = end - start;
    const isPlain = segments === 1 && source === undefined && ecn === 0;
    const controlLength = isPlain
      ? 0
      : putControl(controls.bytes, index * CONTROL_LENGTH, {
          segmentSize: segments > 1 ? segmentSize : 0,
          source,
          ecn,
          toIPv4: textFamily(destination.host) === 4,
          fromIPv6: socket.family === AF_INET6,
        });
    const message = index * MESSAGE_WORDS;
    messages.words[message + 2] = nameLength;
    messages.words[message + 10] = controlLength;
    return true;
  }

  #visit(socket: BatchSocket, index: number, visit: (datagram: ReceivedDatagram) => void): void {
    const { messages, controls } = this.#incoming;
    const message = index * MESSAGE_WORDS;
    const [control, datagram] = [this.#control, this.#datagram];
    const controlLength = messages.words[message + 10] as number; // within, as below
    getControl(controls.bytes, index * CONTROL_LENGTH, controlLength, control);
    if (control.overflow !== undefined) socket.overflow = control.overflow;
    if ((messages.words[message + 12] as number) & MSG_TRUNC || !this.#readSource(index)) return;
    datagram.start = index * SLOT;
    datagram.length = messages.words[message + 14] as number;
    datagram.stride = control.stride > 0 ? control.stride : datagram.length;
    datagram.own = control.own;
    datagram.ecn = control.ecn;
    visit(datagram);
  }

  /** The source of a received datagram, decoded only when it is not that of the one before. */
  #readSource(index: number): boolean {
    const { names } = this.#incoming;
    const at = (index * NAME) / 4;
    let same = true;
    // The seven words of a sockaddr_in6; behind a sockaddr_in there is what was there before.
    for (let i = 0; i < 7; i++) {
      const word = names.words[at + i] as number; // within
      if (word === this.#lastName[i]) continue;
      same = false;
      this.#lastName[i] = word;
    }
    if (same) return true;
    const from = getIpAddress(names.bytes, index * NAME, this.#addresses.zoneName);
    if (from) this.#datagram.from = from;
    else this.#lastName.fill(0);
    return from !== undefined;
  }
}

/** Memory for BATCH messages: their payload, names, control messages, vectors and headers. */
class Slots {
  readonly payload: NativeMemory;
  readonly names: NativeMemory;
  readonly controls: NativeMemory;
  readonly vectors: NativeMemory;
  readonly messages: NativeMemory;

  constructor(calls: SystemCalls) {
    this.payload = calls.memory(BATCH * SLOT);
    this.names = calls.memory(BATCH * NAME);
    this.controls = calls.memory(BATCH * CONTROL_LENGTH);
    this.vectors = calls.memory(BATCH * VECTOR_WORDS * 4);
    this.messages = calls.memory(BATCH * MESSAGE_WORDS * 4);
    for (let i = 0; i < BATCH; i++) {
      const vector = i * VECTOR_WORDS;
      putWord64(this.vectors.words, vector, this.payload.at + i * SLOT);
      const message = i * MESSAGE_WORDS;
      putWord64(this.messages.words, message, this.names.at + i * NAME);
      putWord64(this.messages.words, message + 4, this.vectors.at + vector * 4);
      this.messages.words[message + 6] = 1;
      putWord64(this.messages.words, message + 8, this.controls.at + i * CONTROL_LENGTH);
    }
  }

  /** Says how much room each message has; what a message before left of it is gone. */
  clear(): void {
    const { words } = this.messages;
    for (let i = 0; i < BATCH; i++) {
      const message = i * MESSAGE_WORDS;
      words[message + 2] = NAME;
      words[message + 10] = CONTROL_LENGTH;
      words[message + 12] = 0;
      this.vectors.words[i * VECTOR_WORDS + 2] = SLOT;
    }
  }
}
