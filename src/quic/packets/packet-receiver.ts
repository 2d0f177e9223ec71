import type { Ecn } from '../../ip/datagram-socket.ts';
import { isSameEndpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import { EarlyPackets } from './early-packets.ts';
import { QuicError, TransportErrorCode } from '../errors.ts';
import type { FrameHandler } from './frame-handler.ts';
import { MIN_DATAGRAM } from '../limits.ts';
import type { HandshakeSteps } from '../connection/handshake-steps.ts';
import type { ConnectionParts } from '../connection/parts.ts';
import type { PathChanges } from '../path/path-changes.ts';
import type { Path } from '../path/path.ts';
import type { OpenResult } from '../protection/key-update.ts';
import { TAG_SIZE } from '../protection/packet-keys.ts';
import { Space } from '../recovery/space.ts';
import type { ClientNegotiation } from '../connection/client-negotiation.ts';
import { endsWithResetTokenOf } from '../endpoint/stateless-reset.ts';
import type { DropReason } from '../trace.ts';
import { FrameReader } from '../wire/frame-reader.ts';
import type { FramesPacketType } from '../wire/frame-types.ts';
import {
  hasReservedBits,
  numberSizeOf,
  PacketHeader,
  PacketType,
  readPacketHeader,
} from '../wire/packet-header.ts';
import { copyOf } from '../wire/copy-of.ts';

/** Where a packet came from, and when. One record is reused. */
interface Arrival {
  peer: IpEndpoint;
  own: IpEndpoint | undefined;
  ecn: Ecn;
  now: number;
  /** The path of the datagram; `undefined` until a packet from another address was authenticated. */
  path: Path<IpEndpoint> | undefined;
  /** Bytes of the datagram. */
  bytes: number;
}

/** What becomes of the packets of a datagram (RFC 9000 §12, §5.2): opened, read, or dropped. */
export class PacketReceiver {
  readonly #parts: ConnectionParts;
  readonly #handler: FrameHandler;
  readonly #steps: HandshakeSteps;
  readonly #pathChanges: PathChanges;
  readonly #negotiation: ClientNegotiation | undefined;
  readonly #reader: FrameReader;
  readonly #header = new PacketHeader();
  readonly #early = new EarlyPackets();
  readonly #arrival: Arrival;
  #masksOf: Uint8Array | undefined;
  #masks = 0;
  #masksAt = 0;
  #masksStride = 0;

  /** @param negotiation a client's: what the server answers before it has a connection. */
  constructor(
    parts: ConnectionParts,
    handler: FrameHandler,
    steps: HandshakeSteps,
    pathChanges: PathChanges,
    negotiation: ClientNegotiation | undefined,
  ) {
    this.#parts = parts;
    this.#handler = handler;
    this.#steps = steps;
    this.#pathChanges = pathChanges;
    this.#negotiation = negotiation;
    this.#reader = new FrameReader(parts.role);
    const { active } = parts.paths;
    this.#arrival = {
      peer: active.remote,
      own: active.local,
      ecn: 0,
      now: 0,
      path: active,
      bytes: 0,
    };
  }

  /**
   * Computes the header protection masks of datagrams that are received next, all at once. They start
   * at equal distances, and mostly are 1-RTT packets; for others the masks are not used.
   */
  prepare(buffer: Uint8Array, offset: number, stride: number, end: number): void {
    const { keys, localIdSize } = this.#parts;
    this.#masksOf = buffer;
    this.#masksAt = offset;
    this.#masksStride = stride;
    this.#masks = keys.oneRtt.prepareMasks(buffer, offset + 1 + localIdSize, stride, end);
  }

  /** The masks of `prepare` are used no more: the buffer will hold other datagrams. */
  forgetMasks(): void {
    this.#masks = 0;
    this.#masksOf = undefined;
  }

  /** The index of the mask of the packet at `start`; -1 when there is none. */
  #maskOf(buffer: Uint8Array, start: number): number {
    if (buffer !== this.#masksOf) return -1;
    const index = (start - this.#masksAt) / this.#masksStride;
    return Number.isInteger(index) && index < this.#masks ? index : -1;
  }

  /** Takes one datagram. */
  receive(
    buffer: Uint8Array,
    offset: number,
    length: number,
    peer: IpEndpoint,
    own: IpEndpoint | undefined,
    ecn: Ecn,
    now: number,
  ): void {
    const { paths, lifecycle, peerIds } = this.#parts;
    const arrival = this.#arrival;
    const { active } = paths;
    arrival.peer = peer;
    arrival.own = own;
    arrival.ecn = ecn;
    arrival.now = now;
    arrival.bytes = length;
    arrival.path = isSameEndpoint(peer, active.remote) ? active : undefined;
    arrival.path?.onReceived(length);
    const end = offset + length;
    const used = this.#packets(buffer, offset, end);
    // Only a datagram that is nothing else may be a reset (RFC 9000 §10.3.1).
    if (used === 0 && lifecycle.isOpen && endsWithResetTokenOf(peerIds, buffer, offset, length)) {
      this.#onReset(now);
    }
    if (!this.#early.isEmpty) this.#retryEarly();
  }

  /** Takes the packets of a datagram. Returns how many were authentic. */
  #packets(buffer: Uint8Array, offset: number, end: number): number {
    const { localIdSize, lifecycle } = this.#parts;
    const header = this.#header;
    let used = 0;
    let firstIdAt = -1;
    let firstIdSize = 0;
    for (let at = offset; at < end; at = header.end) {
      const fault = readPacketHeader(buffer, at, end, localIdSize, header);
      if (fault !== undefined) {
        this.#drop('header', end - at);
        break;
      }
      if (firstIdAt < 0) {
        firstIdAt = header.destinationIdOffset;
        firstIdSize = header.destinationIdSize;
      } else if (!this.#hasId(buffer, firstIdAt, firstIdSize)) {
        // Packets of other connections do not belong here (§12.2).
        this.#drop('connection-id', header.end - at);
        continue;
      }
      if (this.#packet(buffer)) used++;
      if (!lifecycle.isOpen) break;
    }
    return used;
  }

  #hasId(buffer: Uint8Array, at: number, size: number): boolean {
    const { destinationIdOffset, destinationIdSize } = this.#header;
    if (destinationIdSize !== size) return false;
    for (let i = 0; i < size; i++) {
      if (buffer[at + i] !== buffer[destinationIdOffset + i]) return false;
    }
    return true;
  }

  /** Takes the packet of `#header`. Whether it was authentic. */
  #packet(buffer: Uint8Array): boolean {
    if (this.#parts.work.isExceeded) return this.#drop('work');
    const header = this.#header;
    switch (header.type) {
      case PacketType.ONE_RTT:
        return this.#oneRtt(buffer);
      case PacketType.INITIAL:
        if (this.#parts.role === 'server' && this.#arrival.bytes < MIN_DATAGRAM) {
          return this.#drop('small-initial');
        }
        // Only clients send tokens in them (§17.2.2).
        if (this.#parts.role === 'client' && header.tokenSize > 0) return this.#drop('token');
        return this.#long(buffer, Space.INITIAL);
      case PacketType.HANDSHAKE:
        return this.#long(buffer, Space.HANDSHAKE);
      case PacketType.RETRY:
        return this.#negotiation?.onRetry(buffer, header, this.#arrival.now) === true
          ? true
          : this.#drop('type');
      case PacketType.VERSION_NEGOTIATION:
        this.#negotiation?.onVersionNegotiation(buffer, header, this.#arrival.now);
        return this.#drop('version');
      case PacketType.ZERO_RTT:
        return this.#drop('type');
      case PacketType.UNKNOWN_VERSION:
        return this.#drop('version');
      default:
        return header.type satisfies never;
    }
  }

  /** An Initial or Handshake packet. */
  #long(buffer: Uint8Array, space: typeof Space.INITIAL | typeof Space.HANDSHAKE): boolean {
    const { keys, handshakeIds, peerIds, received } = this.#parts;
    const header = this.#header;
    const { start, numberOffset, end } = header;
    if (keys.isDiscarded(space)) return this.#drop('old-keys');
    const opener = keys.opener(space);
    const schedule = received.of(space);
    if (opener === undefined || schedule === undefined) return this.#keep(buffer);
    const { sourceIdOffset: idAt, sourceIdSize: idSize } = header;
    // The peer does not change its first id during the handshake (§7.2).
    const { peerId } = handshakeIds;
    if (peerId !== undefined && !isId(buffer, idAt, idSize, peerId)) {
      return this.#drop('connection-id');
    }
    const number = opener.unprotect(
      buffer,
      start,
      numberOffset,
      end,
      schedule.ranges.largestReceived,
    );
    if (number < 0 || !opener.open(buffer, start, numberOffset, end, number)) {
      return this.#drop('authentication');
    }
    if (peerId === undefined) {
      handshakeIds.peerId = copyOf(buffer, idAt, idAt + idSize);
      peerIds.setFirst(handshakeIds.peerId, undefined);
    }
    const type = space === Space.INITIAL ? PacketType.INITIAL : PacketType.HANDSHAKE;
    this.#opened(buffer, space, type, number);
    return true;
  }

  #oneRtt(buffer: Uint8Array): boolean {
    const { keys, handshake, received, loss } = this.#parts;
    const { start, numberOffset, end } = this.#header;
    const schedule = received.of(Space.APPLICATION);
    if (schedule === undefined) return this.#drop('old-keys');
    // Not before the handshake is complete, even with keys (RFC 9001 §5.7).
    if (!keys.oneRtt.canRead || !handshake.isComplete) return this.#keep(buffer);
    const { oneRtt } = keys;
    const { updates } = oneRtt;
    const { now } = this.#arrival;
    const { largestReceived } = schedule.ranges;
    const mask = this.#maskOf(buffer, start);
    const number = oneRtt.unprotect(buffer, start, numberOffset, end, largestReceived, mask);
    if (number < 0) return this.#drop('authentication');
    const timeout = loss.probeTimeout();
    const result: OpenResult = oneRtt.open(buffer, start, numberOffset, end, number, now, timeout);
    if (result === 'dropped') return this.#drop('authentication');
    if (result !== 'opened') {
      this.#fail(result);
      return true;
    }
    if (oneRtt.updates !== updates) {
      this.#parts.trace?.({ kind: 'key-update', updates: oneRtt.updates }, now);
    }
    this.#opened(buffer, Space.APPLICATION, PacketType.ONE_RTT, number);
    return true;
  }

  /** A packet of `#header` is authentic, and its plaintext in the buffer. */
  #opened(buffer: Uint8Array, space: Space, type: FramesPacketType, number: number): void {
    const { closing, lifecycle, received, activity, loss, counters, trace, work } = this.#parts;
    const { start, numberOffset, end, destinationIdOffset, destinationIdSize } = this.#header;
    const arrival = this.#arrival;
    const { now } = arrival;
    if (!lifecycle.isOpen) {
      closing.onPacket();
      return;
    }
    const schedule = received.of(space);
    if (schedule === undefined) return;
    if (schedule.ranges.has(number)) {
      this.#drop('duplicate');
      return;
    }
    const first = buffer[start] as number; // the header was read
    if (hasReservedBits(first)) {
      this.#fail(new QuicError(TransportErrorCode.PROTOCOL_VIOLATION, 'reserved bits are set'));
      return;
    }
    const path = arrival.path ?? this.#otherPath();
    if (path === undefined) {
      this.#drop('address');
      return;
    }
    if (trace !== undefined) {
      trace({ kind: 'packet-received', space, number, bytes: end - start }, now);
    }
    const reader = this.#reader;
    const isNewest = number > schedule.ranges.largestReceived;
    this.#handler.begin(space, path, buffer, destinationIdOffset, destinationIdSize, now);
    const error = reader.read(
      buffer,
      numberOffset + numberSizeOf(first),
      end - TAG_SIZE,
      type,
      this.#handler,
    );
    counters.packetsReceived++;
    work.add(reader.frames);
    if (error !== undefined) {
      this.#fail(error);
      return;
    }
    schedule.onReceived(number, reader.ackEliciting, arrival.ecn, now);
    if (!lifecycle.isOpen) return;
    activity.onReceived(loss, now);
    if (space !== Space.APPLICATION || lifecycle.state === 'handshaking') {
      this.#steps.afterPacket(space, now);
    } else if (path !== this.#parts.paths.active && isNewest && !reader.probing) {
      this.#pathChanges.moveTo(path, now);
    }
  }

  /** The path of a datagram from another address than the one in use. */
  #otherPath(): Path<IpEndpoint> | undefined {
    const arrival = this.#arrival;
    const { paths, lifecycle } = this.#parts;
    const path = paths.of(arrival.peer, arrival.own, lifecycle.isConfirmed);
    path?.onReceived(arrival.bytes);
    arrival.path = path;
    return path;
  }

  /** Keeps a packet that came before its keys. */
  #keep(buffer: Uint8Array): false {
    const { start, end } = this.#header;
    const arrival = this.#arrival;
    const isKept = arrival.path !== undefined && this.#early.keep(buffer, start, end, arrival.ecn);
    return isKept ? false : this.#drop('no-keys');
  }

  /** Takes the packets again whose keys may have come. */
  #retryEarly(): void {
    const { keys, lifecycle } = this.#parts;
    const isReady =
      keys.opener(Space.HANDSHAKE) !== undefined ||
      keys.isDiscarded(Space.HANDSHAKE) ||
      lifecycle.isEstablished ||
      !lifecycle.isOpen;
    if (!isReady) return;
    const { localIdSize } = this.#parts;
    const waiting = this.#early.take();
    for (const { bytes, ecn } of waiting) {
      if (!lifecycle.isOpen) return;
      if (readPacketHeader(bytes, 0, bytes.length, localIdSize, this.#header) !== undefined)
        continue;
      this.#arrival.ecn = ecn;
      this.#arrival.path = this.#parts.paths.active;
      this.#packet(bytes);
    }
  }

  #drop(reason: DropReason, bytes = this.#header.end - this.#header.start): false {
    const { counters, trace } = this.#parts;
    counters.packetsDropped++;
    if (trace !== undefined) trace({ kind: 'packet-dropped', reason, bytes }, this.#arrival.now);
    return false;
  }

  #fail(error: QuicError): void {
    const { closing, loss } = this.#parts;
    closing.fail(error, loss.probeTimeout(), this.#arrival.now);
  }

  #onReset(now: number): void {
    this.#parts.closing.end({ kind: 'stateless-reset', by: 'peer', code: 0, reason: '' }, now);
  }
}

const isId = (bytes: Uint8Array, at: number, size: number, id: Uint8Array): boolean => {
  if (size !== id.length) return false;
  for (let i = 0; i < size; i++) if (bytes[at + i] !== id[i]) return false;
  return true;
};
