import type { Ecn, ReceivedDatagrams, SendResult, Transmit } from '../../ip/datagram-socket.ts';
import {
  blankEndpoint,
  isIPv4Endpoint,
  isSameAddress,
  isSameEndpoint,
} from '../../ip/ip-endpoint.ts';
import type { SystemCalls } from './bindings.ts';
import { CONTROL_LENGTH, getControl, putControl, type ReceiveControl } from './control-messages.ts';
import { AF_INET6, EAGAIN, EINVAL, EIO, EMSGSIZE, MSG_DONTWAIT, MSG_TRUNC } from './linux.ts';
import { putWord64, type NativeMemory } from './memory.ts';
import { getEndpoint, putEndpoint } from './sockaddr.ts';

/** Messages of one call. */
export const BATCH = 64;
/** The largest UDP payload is 65,527 bytes; coalesced datagrams (GRO) come in at most 64 KB. */
const SLOT = 64 << 10;
/** `UDP_MAX_SEGMENTS` of older kernels, and the payload that one IPv4 packet can have. */
const MAX_SEGMENTS = 64;
const MAX_SEGMENTED = 65_507;
/**
 * Datagrams up to this size that follow each other to one peer leave as segments of one message:
 * larger ones do not fit the MTU of most paths, and only a whole datagram can be fragmented.
 */
const MAX_JOINED = 1472;
/** Vectors of one call: each message has one, or one for each datagram that was joined. */
const VECTORS = 256;
/** The largest payload to an IPv4 (RFC 768) and an IPv6 destination (RFC 8200), without jumbograms. */
const MAX_IPV4_PAYLOAD = 65_507;
const MAX_IPV6_PAYLOAD = 65_527;

/** `struct mmsghdr` in words: name 0, namelen 2, iov 4, iovlen 6, control 8, controllen 10, flags 12, len 14. */
const MESSAGE_WORDS = 16;
/** `struct iovec` in words. */
const VECTOR_WORDS = 4;
/** Room for a `sockaddr_in6`, aligned, in words. */
const NAME_WORDS = 8;
const CONTROL_WORDS = CONTROL_LENGTH / 4;

/** A socket, for the calls of a batch. */
export interface BatchSocket {
  readonly fd: number;
  readonly family: number;
  /** Whether an IPv6 socket reaches IPv4 peers. */
  readonly dualStack: boolean;
  /** The port of its own address, for the records that it receives. */
  readonly port: number;
  /** UDP_SEGMENT works; cleared for good by the first error that is its fault. */
  segmentation: boolean;
  /** Datagrams that the kernel or this batch refused. */
  dropped: number;
  /** The queue overflow counter of the kernel (SO_RXQ_OVFL). */
  overflowed: number;
}

/** What an outgoing message carries: a part of one transmit, or several whole ones. */
interface Piece {
  /** The first transmit, and where in its bytes the message begins. */
  index: number;
  offset: number;
  /** The last transmit, and where in its bytes the message ends. */
  last: number;
  end: number;
  /** Datagrams. */
  segments: number;
}

type Filled<Type> = { -readonly [key in keyof Type]: Type[key] };

/**
 * Messages for batches of datagrams, shared by all sockets of a thread: `recvmmsg` and `sendmmsg`
 * with their addresses and control messages. Nothing is allocated for a datagram; what is sent is
 * read where it lies.
 */
export class DatagramBatch {
  readonly #calls: SystemCalls;
  readonly #payload: NativeMemory;
  readonly #incoming: Messages;
  readonly #outgoing: Messages;
  readonly #control: ReceiveControl = {
    stride: 0,
    ecn: 0,
    hasOwn: false,
    own: blankEndpoint(),
    overflow: undefined,
  };
  readonly #peer = blankEndpoint();
  readonly #received: Filled<ReceivedDatagrams>;
  readonly #result: Filled<SendResult> = {
    done: 0,
    sentBytes: 0,
    full: false,
    tooLarge: 0,
    firstTooLarge: -1,
  };
  readonly #pieces: readonly Piece[] = Array.from({ length: BATCH }, () => ({
    index: 0,
    offset: 0,
    last: 0,
    end: 0,
    segments: 0,
  }));
  /** The datagrams that go one by one, since the kernel refused them together. */
  readonly #apart: Piece = { index: 0, offset: 0, last: -1, end: 0, segments: 0 };
  #lastTooLarge = -1;
  /** Bytes that the last `receive` has passed on. */
  received = 0;
  /** Where the next message begins: a transmit, and bytes of it. */
  #index = 0;
  #offset = 0;
  /** The next free vector. */
  #vector = 0;
  /** The memory that was sent from last, and its address. */
  #memory: ArrayBufferLike | undefined;
  #memoryAt = 0;

  constructor(calls: SystemCalls) {
    this.#calls = calls;
    this.#payload = calls.memory(BATCH * SLOT);
    this.#incoming = new Messages(calls, BATCH);
    this.#outgoing = new Messages(calls, VECTORS);
    for (let i = 0; i < BATCH; i++) {
      this.#incoming.setVector(i, this.#payload.at + i * SLOT, SLOT);
      this.#incoming.setVectors(i, i, 1);
    }
    this.#received = {
      peer: this.#peer,
      buffer: this.#payload.bytes,
      offset: 0,
      length: 0,
      stride: 0,
      own: undefined,
      ecn: 0 satisfies Ecn,
    };
  }

  /**
   * Receives up to BATCH buffers of datagrams and passes them on, in order, as long as the socket is
   * open. `visit` must not receive in turn.
   *
   * @returns their number, or the negative error number; `-EAGAIN` when there is nothing.
   */
  receive(socket: BatchSocket, visit: (received: ReceivedDatagrams) => void): number {
    const { messages } = this.#incoming;
    this.#incoming.clear();
    this.received = 0;
    const count = this.#calls.recvmmsg(socket.fd, messages.at, BATCH, MSG_DONTWAIT, 0);
    if (count < 0) return -this.#calls.errno();
    for (let i = 0; i < count && socket.fd >= 0; i++)
      if (this.#read(socket, i)) visit(this.#received);
    return count;
  }

  /**
   * Sends transmits in order, as many datagrams with a call as fit; the promise of
   * `DatagramSocket.send`.
   *
   * Datagrams that the kernel refuses together are sent once more one by one. When it then takes
   * them, and the error was one that blames UDP_SEGMENT, the socket does without from then on.
   */
  send(
    socket: BatchSocket,
    transmits: readonly Transmit[],
    count: number,
    sentBytes: number,
  ): SendResult {
    const result = this.#result;
    result.tooLarge = 0;
    result.firstTooLarge = -1;
    this.#apart.last = -1;
    this.#index = 0;
    this.#offset = sentBytes;
    let full = false;
    while (!full && this.#index < count)
      full = !this.#flush(socket, this.#fill(socket, transmits, count));
    result.full = full;
    result.done = this.#index;
    result.sentBytes = this.#offset;
    return result;
  }

  /** Sends the prepared messages; false when the socket is full. Moves back to what is left. */
  #flush(socket: BatchSocket, count: number): boolean {
    const { messages } = this.#outgoing;
    for (let sent = 0; sent < count;) {
      const at = messages.at + sent * MESSAGE_WORDS * 4;
      const result = this.#calls.sendmmsg(socket.fd, at, count - sent, MSG_DONTWAIT);
      if (result > 0) {
        sent += result;
        continue;
      }
      const error = this.#calls.errno();
      const piece = this.#pieces[sent] as Piece; // within
      if (error === EAGAIN) {
        this.#goBackTo(piece);
        return false;
      }
      if (piece.segments > 1 && (error === EIO || error === EINVAL || error === EMSGSIZE)) {
        // EIO: no checksum offload at this device. EINVAL: no UDP_SEGMENT at all or, in kernels
        // before 6.14, segments beyond the MTU, for which later ones have EMSGSIZE.
        if (error !== EMSGSIZE) socket.segmentation = false;
        Object.assign(this.#apart, piece);
        this.#goBackTo(piece);
        return true;
      }
      if (error === EMSGSIZE) {
        this.#reportTooLarge(piece.index);
        // The size was to blame, not the offload.
        if (this.#isApart(piece.index, piece.offset)) socket.segmentation = true;
      }
      socket.dropped += piece.segments;
      sent++;
    }
    return true;
  }

  #goBackTo({ index, offset }: Piece): void {
    this.#index = index;
    this.#offset = offset;
  }

  #isApart(index: number, offset: number): boolean {
    const apart = this.#apart;
    return (
      index >= apart.index && (index < apart.last || (index === apart.last && offset < apart.end))
    );
  }

  #reportTooLarge(index: number): void {
    const result = this.#result;
    if (result.tooLarge === 0) result.firstTooLarge = index;
    // The datagrams of one transmit fail behind each other.
    if (index !== this.#lastTooLarge || result.tooLarge === 0) result.tooLarge++;
    this.#lastTooLarge = index;
  }

  /** Prepares messages from where the last ones ended; their number. */
  #fill(socket: BatchSocket, transmits: readonly Transmit[], end: number): number {
    let count = 0;
    this.#vector = 0;
    while (count < BATCH && this.#vector < VECTORS && this.#index < end) {
      const transmit = transmits[this.#index] as Transmit; // within
      const { length } = transmit;
      const size = segmentOf(transmit);
      if (!canSend(socket, transmit)) {
        socket.dropped += Math.max(1, Math.ceil((length - this.#offset) / size));
        this.#next();
        continue;
      }
      const piece = this.#pieces[count] as Piece; // within
      const together = socket.segmentation && !this.#isApart(this.#index, this.#offset);
      const whole = together ? Math.min(MAX_SEGMENTS, Math.floor(MAX_SEGMENTED / size)) : 1;
      piece.index = this.#index;
      piece.offset = this.#offset;
      piece.last = this.#index;
      piece.end = Math.min(length, this.#offset + size * Math.max(whole, 1));
      piece.segments = Math.max(1, Math.ceil((piece.end - piece.offset) / size));
      const firstVector = this.#vector;
      this.#putVector(transmit, piece.offset, piece.end);
      this.#offset = piece.end;
      if (piece.end >= length) {
        this.#next();
        if (together && size >= length && length <= MAX_JOINED) {
          this.#join(socket, transmits, end, piece);
        }
      }
      this.#putMessage(socket, count++, transmit, piece, firstVector);
    }
    return count;
  }

  /** Adds the transmits behind the one of `piece` that may leave as segments of the same message. */
  #join(socket: BatchSocket, transmits: readonly Transmit[], end: number, piece: Piece): void {
    const first = transmits[piece.index] as Transmit; // within
    const most = Math.min(MAX_SEGMENTS, Math.floor(MAX_SEGMENTED / Math.max(first.length, 1)));
    while (piece.segments < most && this.#index < end && this.#vector < VECTORS) {
      const next = transmits[this.#index] as Transmit; // within
      if (this.#isApart(this.#index, 0) || !canJoin(first, next) || !canSend(socket, next)) return;
      this.#putVector(next, 0, next.length);
      piece.last = this.#index;
      piece.end = next.length;
      piece.segments++;
      this.#next();
      if (next.length < first.length) return; // only the last segment may be shorter
    }
  }

  #next(): void {
    this.#index++;
    this.#offset = 0;
  }

  #putVector({ buffer, offset }: Transmit, from: number, to: number): void {
    const memory = buffer.buffer;
    if (memory !== this.#memory) {
      this.#memoryAt = this.#calls.addressOf(buffer) - buffer.byteOffset;
      this.#memory = memory;
    }
    const at = this.#memoryAt + buffer.byteOffset + offset + from;
    this.#outgoing.setVector(this.#vector++, at, to - from);
  }

  #putMessage(
    socket: BatchSocket,
    index: number,
    transmit: Transmit,
    { segments }: Piece,
    firstVector: number,
  ): void {
    const { names, controls, messages } = this.#outgoing;
    this.#outgoing.setVectors(index, firstVector, this.#vector - firstVector);
    const message = index * MESSAGE_WORDS;
    const { family } = socket;
    const { destination, source, ecn } = transmit;
    messages.words[message + 2] = putEndpoint(names.words, index * NAME_WORDS, destination, family);
    messages.words[message + 10] =
      segments === 1 && source === undefined && ecn === 0
        ? 0
        : putControl(
            controls.words,
            index * CONTROL_WORDS,
            transmit,
            segments > 1 ? segmentOf(transmit) : 0,
            family === AF_INET6,
          );
  }

  /** Fills the record from a received message; false for one that is not passed on. */
  #read(socket: BatchSocket, index: number): boolean {
    const { messages, controls, names } = this.#incoming;
    const message = index * MESSAGE_WORDS;
    const control = this.#control;
    const received = this.#received;
    const controlLength = messages.words[message + 10] as number; // within, as below
    getControl(controls.words, index * CONTROL_WORDS, controlLength, control);
    if (control.overflow !== undefined) socket.overflowed = control.overflow;
    if ((messages.words[message + 12] as number) & MSG_TRUNC) return false;
    if (!getEndpoint(names.words, index * NAME_WORDS, this.#peer)) return false;
    const length = messages.words[message + 14] as number;
    this.received += length;
    received.offset = index * SLOT;
    received.length = length;
    received.stride = control.stride > 0 && control.stride < length ? control.stride : length;
    received.own = control.hasOwn ? control.own : undefined;
    control.own.port = socket.port;
    received.ecn = control.ecn;
    return true;
  }
}

/** Bytes of each datagram of a transmit but the last. */
const segmentOf = ({ segmentSize, length }: Transmit): number =>
  segmentSize > 0 ? segmentSize : Math.max(length, 1);

/** Whether a transmit can be put into messages: bytes that are there, for a peer in reach. */
function canSend(socket: BatchSocket, transmit: Transmit): boolean {
  const { destination, buffer, offset, length, source } = transmit;
  const { port } = destination;
  // A buffer whose memory was transferred has no bytes any more.
  if (!(offset >= 0 && length >= 0 && offset + length <= buffer.length) || socket.fd < 0) {
    return false;
  }
  if (!(port > 0 && port <= 0xffff)) return false;
  const toIPv4 = isIPv4Endpoint(destination);
  const most = toIPv4 ? MAX_IPV4_PAYLOAD : MAX_IPV6_PAYLOAD;
  if (Math.min(segmentOf(transmit), length) > most) return false;
  // The kernel refuses the source of another family, or ignores it.
  if (source !== undefined && isIPv4Endpoint(source) !== toIPv4) return false;
  return socket.family === AF_INET6 ? !toIPv4 || socket.dualStack : toIPv4;
}

/** Whether a datagram may be a segment behind another. */
function canJoin(first: Transmit, next: Transmit): boolean {
  const { length } = next;
  return (
    length > 0 &&
    length <= first.length &&
    segmentOf(next) >= length &&
    next.ecn === first.ecn &&
    (next.destination === first.destination ||
      isSameEndpoint(next.destination, first.destination)) &&
    (next.source === first.source ||
      (next.source !== undefined &&
        first.source !== undefined &&
        isSameAddress(next.source, first.source)))
  );
}

/** Memory for the headers of BATCH messages: names, control messages and vectors. */
class Messages {
  readonly names: NativeMemory;
  readonly controls: NativeMemory;
  readonly messages: NativeMemory;
  readonly #vectors: NativeMemory;

  constructor(calls: SystemCalls, vectors: number) {
    this.names = calls.memory(BATCH * NAME_WORDS * 4);
    this.controls = calls.memory(BATCH * CONTROL_LENGTH);
    this.#vectors = calls.memory(vectors * VECTOR_WORDS * 4);
    this.messages = calls.memory(BATCH * MESSAGE_WORDS * 4);
    for (let i = 0; i < BATCH; i++) {
      const message = i * MESSAGE_WORDS;
      const { words } = this.messages;
      putWord64(words, message, this.names.at + i * NAME_WORDS * 4);
      putWord64(words, message + 8, this.controls.at + i * CONTROL_LENGTH);
    }
  }

  /** A place of payload. */
  setVector(index: number, at: number, length: number): void {
    const { words } = this.#vectors;
    putWord64(words, index * VECTOR_WORDS, at);
    words[index * VECTOR_WORDS + 2] = length;
  }

  /** Which vectors hold the payload of a message. */
  setVectors(index: number, first: number, count: number): void {
    const { words } = this.messages;
    putWord64(words, index * MESSAGE_WORDS + 4, this.#vectors.at + first * VECTOR_WORDS * 4);
    words[index * MESSAGE_WORDS + 6] = count;
  }

  /** States how much room each message has; an earlier message has changed that. */
  clear(): void {
    const { words } = this.messages;
    for (let i = 0; i < BATCH; i++) {
      const message = i * MESSAGE_WORDS;
      words[message + 2] = NAME_WORDS * 4;
      words[message + 10] = CONTROL_LENGTH;
      words[message + 12] = 0;
    }
  }
}
