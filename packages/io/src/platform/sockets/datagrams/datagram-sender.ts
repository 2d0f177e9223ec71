import {
  type SendResult,
  type Transmit,
  isIPv4Endpoint,
  isSameAddress,
  isSameEndpoint,
} from '@weir/base/ip';
import { ANY_DEVICE, type DeviceChoice, NO_DEVICE, type SystemCalls } from '../bindings.ts';
import {
  BATCH,
  type BatchSocket,
  CONTROL_WORDS,
  MESSAGE_WORDS,
  MessageHeaders,
  NAME_WORDS,
  putControl,
} from './control-messages.ts';
import {
  AF_INET6,
  EAGAIN,
  EHOSTUNREACH,
  EINTR,
  EINVAL,
  EIO,
  EMSGSIZE,
  ENETUNREACH,
  MSG_DONTWAIT,
} from '../linux.ts';
import { putEndpoint } from '../sockaddr.ts';

/**
 * The most segments of one message: `UDP_MAX_SEGMENTS` of older kernels; and its payload in bytes, the largest of IPv4.
 */
const MAX_SEGMENTS = 64;
const MAX_SEGMENTED = 65_507;
/**
 * Consecutive datagrams to one peer up to this size are sent as segments of one message. Larger
 * ones exceed the MTU of most paths, and segments cannot be fragmented.
 */
const MAX_JOINED = 1472;
/** Vectors of one call: one per message, or one per joined datagram. */
const VECTORS = 256;
/** The largest payload to an IPv4 (RFC 768) and an IPv6 destination (RFC 8200), without jumbograms. */
const MAX_IPV4_PAYLOAD = 65_507;
const MAX_IPV6_PAYLOAD = 65_527;

/** The part of `KernelIo` that the sender uses. */
interface SenderDeps {
  readonly calls: SystemCalls;
  readonly devices: DeviceChoice | undefined;
}

/** The content of an outgoing message: a part of one transmit, or several whole ones. */
interface Piece {
  /** The first transmit, and the offset in it at which the message begins. */
  index: number;
  offset: number;
  /** The last transmit, and the offset in it at which the message ends. */
  last: number;
  end: number;
  /** Number of datagrams. */
  segments: number;
}

/**
 * Sends batches of datagrams (`sendmmsg`) for all sockets of a thread, without allocations or
 * copies per datagram.
 */
export class DatagramSender {
  readonly #calls: SystemCalls;
  readonly #choice: SenderDeps;
  readonly #headers: MessageHeaders;
  readonly #result: { -readonly [key in keyof SendResult]: SendResult[key] } = {
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
  /** The datagrams to be sent one by one, because the kernel refused them as segments. */
  readonly #apart: Piece = { index: 0, offset: 0, last: -1, end: 0, segments: 0 };
  #lastTooLarge = -1;
  /** The start of the next message: a transmit and an offset in it. */
  #index = 0;
  #offset = 0;
  /** The next free vector. */
  #vector = 0;
  /** The last memory sent from, and its address. */
  #memory: ArrayBufferLike | undefined;
  #memoryAt = 0;

  constructor(deps: SenderDeps) {
    this.#calls = deps.calls;
    this.#choice = deps;
    this.#headers = new MessageHeaders(deps.calls, VECTORS);
  }

  /**
   * Sends transmits in order, with as many datagrams per call as possible, as specified by
   * `DatagramSocket.send`.
   *
   * Datagrams that the kernel refuses as segments are sent again one by one. If that succeeds, and
   * the error indicated a problem of UDP_SEGMENT, the socket no longer uses it.
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
      full = !this.#flush(socket, transmits, this.#fill(socket, transmits, count));
    result.full = full;
    result.done = this.#index;
    result.sentBytes = this.#offset;
    return result;
  }

  /**
   * Sends the prepared messages; returns false if the socket is full. Resets the position to the first
   * unsent message.
   */
  #flush(socket: BatchSocket, transmits: readonly Transmit[], count: number): boolean {
    const { messages } = this.#headers;
    let isRepeated = false;
    for (let sent = 0; sent < count;) {
      const at = messages.at + sent * MESSAGE_WORDS * 4;
      const result = this.#calls.sendmmsg(socket.fd, at, count - sent, MSG_DONTWAIT);
      if (result > 0) {
        sent += result;
        isRepeated = false;
        continue;
      }
      const error = this.#calls.errno();
      if (error === EINTR) continue;
      if (socket.reportsErrors && error !== EAGAIN && !isRepeated) {
        // The error may be that of an earlier datagram, which this call has cleared.
        isRepeated = true;
        continue;
      }
      isRepeated = false;
      const piece = this.#pieces[sent] as Piece; // within
      if (error === EAGAIN) {
        this.#goBackTo(piece);
        return false;
      }
      if (piece.segments > 1 && (error === EIO || error === EINVAL || error === EMSGSIZE)) {
        // EIO: the device has no checksum offload. EINVAL: no UDP_SEGMENT at all or, before Linux
        // 6.14, segments beyond the MTU, for which later kernels return EMSGSIZE.
        if (error !== EMSGSIZE) socket.segmentation = false;
        Object.assign(this.#apart, piece);
        this.#goBackTo(piece);
        return true;
      }
      if (error === EMSGSIZE) {
        this.#reportTooLarge(piece.index);
        // The cause was the size, not the offload.
        if (this.#isApart(piece.index, piece.offset)) socket.segmentation = true;
      }
      if (error === ENETUNREACH || error === EHOSTUNREACH) {
        const { destination } = transmits[piece.index] as Transmit; // within
        socket.onUnreachable?.(destination, error === EHOSTUNREACH ? 'host' : 'network');
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
    // The datagrams of one transmit fail consecutively, and count once.
    if (index !== this.#lastTooLarge || result.tooLarge === 0) result.tooLarge++;
    this.#lastTooLarge = index;
  }

  /** Prepares messages from the current position; returns their number. */
  #fill(socket: BatchSocket, transmits: readonly Transmit[], end: number): number {
    let count = 0;
    this.#vector = 0;
    while (count < BATCH && this.#vector < VECTORS && this.#index < end) {
      const transmit = transmits[this.#index] as Transmit; // within
      const { length } = transmit;
      const size = segmentOf(transmit);
      const isRefused = !canSend(socket, transmit);
      if (isRefused || this.#isUnreachable(transmit)) {
        if (!isRefused) socket.onUnreachable?.(transmit.destination, 'network');
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

  /** Adds the transmits after that of `piece` that can be segments of the same message. */
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

  /** Whether the only route of a transmit is through a device that must not be used. */
  #isUnreachable({ destination }: Transmit): boolean {
    return this.#choice.devices?.deviceFor(destination) === NO_DEVICE;
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
    this.#headers.setVector(this.#vector++, at, to - from);
  }

  #putMessage(
    socket: BatchSocket,
    index: number,
    transmit: Transmit,
    { segments }: Piece,
    firstVector: number,
  ): void {
    const { names, controls, messages } = this.#headers;
    this.#headers.setVectors(index, firstVector, this.#vector - firstVector);
    const message = index * MESSAGE_WORDS;
    const { family } = socket;
    const { destination, source, ecn } = transmit;
    const device = Math.max(this.#choice.devices?.deviceFor(destination) ?? ANY_DEVICE, 0);
    messages.words[message + 2] = putEndpoint(names.words, index * NAME_WORDS, destination, family);
    messages.words[message + 10] =
      segments === 1 && source === undefined && ecn === 0 && device === ANY_DEVICE
        ? 0
        : putControl(
            controls.words,
            index * CONTROL_WORDS,
            transmit,
            segments > 1 ? segmentOf(transmit) : 0,
            family === AF_INET6,
            device,
          );
  }
}

/** Returns the size in bytes of each datagram of a transmit except the last. */
const segmentOf = ({ segmentSize, length }: Transmit): number =>
  segmentSize > 0 ? segmentSize : Math.max(length, 1);

/** Whether a transmit can be sent: its bytes exist, and the socket can reach its destination. */
function canSend(socket: BatchSocket, transmit: Transmit): boolean {
  const { destination, buffer, offset, length, source } = transmit;
  const { port } = destination;
  // A buffer whose memory was transferred is empty.
  if (!(offset >= 0 && length >= 0 && offset + length <= buffer.length) || socket.fd < 0) {
    return false;
  }
  if (!(port > 0 && port <= 0xffff)) return false;
  const toIPv4 = isIPv4Endpoint(destination);
  const most = toIPv4 ? MAX_IPV4_PAYLOAD : MAX_IPV6_PAYLOAD;
  if (Math.min(segmentOf(transmit), length) > most) return false;
  // The kernel refuses or ignores a source of another family.
  if (source !== undefined && isIPv4Endpoint(source) !== toIPv4) return false;
  return socket.family === AF_INET6 ? !toIPv4 || socket.dualStack : toIPv4;
}

/** Whether a datagram can be a segment after another. */
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
