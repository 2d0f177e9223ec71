import type { ConnectionParts } from '../connection/parts.ts';
import { type Ecn, isSameEndpoint, type IpEndpoint } from '@weir/base/ip';
import { MAX_EARLY_BYTES, MAX_EARLY_PACKETS, MIN_DATAGRAM } from '../limits.ts';
import { copyOf } from '@weir/base/bytes';
import type { OneRttKeys, OpenResult } from '../protection/one-rtt-keys.ts';
import { isSameId } from '../connection/connection-tls.ts';
import type { DropReason } from '../trace.ts';
import { QuicError, TransportErrorCode } from '../errors.ts';
import { FrameHandler } from './frame-handler.ts';
import type { HandshakeSteps, ClientNegotiation } from '../connection/handshake-steps.ts';
import type { PathChanges } from '../path/path-changes.ts';
import type { Path } from '../path/paths.ts';
import { TAG_SIZE } from '../protection/packet-keys.ts';
import {
  Space,
  hasReservedBits,
  numberSizeOf,
  PacketHeader,
  PacketType,
  readPacketHeader,
} from '../wire/packet-header.ts';
import { FrameReader } from '../wire/frame-reader.ts';
import type { FramesPacketType } from '../wire/frame-types.ts';

/** A packet that arrived before its keys were available. */
interface EarlyPacket {
  readonly bytes: Uint8Array;
  readonly ecn: Ecn;
}

/** Packets that arrived before their keys were available (RFC 9001 §5.7), bounded. */
class EarlyPackets {
  #packets: EarlyPacket[] = [];
  #bytes = 0;

  /** Copies a packet; returns false when there is no room for it. */
  keep(buffer: Uint8Array, start: number, end: number, ecn: Ecn): boolean {
    const size = end - start;
    if (this.#packets.length >= MAX_EARLY_PACKETS || this.#bytes + size > MAX_EARLY_BYTES) {
      return false;
    }
    this.#packets.push({ bytes: copyOf(buffer, start, end), ecn });
    this.#bytes += size;
    return true;
  }

  get isEmpty(): boolean {
    return this.#packets.length === 0;
  }

  /** Removes all packets and returns them in order; those still without keys may be kept again. */
  take(): readonly EarlyPacket[] {
    const packets = this.#packets;
    this.#packets = [];
    this.#bytes = 0;
    return packets;
  }
}

/**
 * Header protection masks of datagrams that are received together, computed with one call (RFC 9001 §5.4).
 * The datagrams start at equal distances, and most hold a single 1-RTT packet; for others the masks are not
 * used.
 */
class PreparedMasks {
  #buffer: Uint8Array | undefined;
  #count = 0;
  #offset = 0;
  #stride = 0;

  /** @param idSize bytes of the destination id in short headers. */
  prepare(
    keys: OneRttKeys,
    buffer: Uint8Array,
    offset: number,
    stride: number,
    end: number,
    idSize: number,
  ): void {
    this.#buffer = buffer;
    this.#offset = offset;
    this.#stride = stride;
    this.#count = keys.prepareMasks(buffer, offset + 1 + idSize, stride, end);
  }

  /** Invalidates the masks: the buffer will hold other datagrams. */
  forget(): void {
    this.#count = 0;
    this.#buffer = undefined;
  }

  /** Returns the index of the mask of the packet at `start`; -1 when there is none. */
  indexOf(buffer: Uint8Array, start: number): number {
    if (buffer !== this.#buffer) return -1;
    const index = (start - this.#offset) / this.#stride;
    return Number.isInteger(index) && index < this.#count ? index : -1;
  }
}

/** Processes the packets of a datagram: decrypts and reads, or drops them (RFC 9000 §5.2, §12). */
export class PacketReceiver {
  readonly #parts: ConnectionParts;
  readonly #handler: FrameHandler;
  readonly #steps: HandshakeSteps;
  readonly #pathChanges: PathChanges;
  readonly #negotiation: ClientNegotiation | undefined;
  readonly #reader: FrameReader;
  readonly #header = new PacketHeader();
  readonly #early = new EarlyPackets();
  readonly #masks = new PreparedMasks();

  // The datagram that is being processed.
  #peer: IpEndpoint;
  #own: IpEndpoint | undefined;
  #ecn: Ecn = 0;
  #now = 0;
  /** The path of the datagram; `undefined` until a packet from a new address was authenticated. */
  #path: Path | undefined;
  /** Number of bytes of the datagram. */
  #bytes = 0;

  /** @param negotiation handles Retry and Version Negotiation packets; for clients only. */
  constructor(
    parts: ConnectionParts,
    steps: HandshakeSteps,
    pathChanges: PathChanges,
    negotiation: ClientNegotiation | undefined,
  ) {
    this.#parts = parts;
    this.#handler = new FrameHandler(parts, steps);
    this.#steps = steps;
    this.#pathChanges = pathChanges;
    this.#negotiation = negotiation;
    this.#reader = new FrameReader(parts.role);
    this.#peer = parts.paths.active.remote;
  }

  /** Computes the header protection masks of the datagrams received next; see `PreparedMasks`. */
  prepare(buffer: Uint8Array, offset: number, stride: number, end: number): void {
    this.#masks.prepare(
      this.#parts.keys.oneRtt,
      buffer,
      offset,
      stride,
      end,
      this.#parts.localId.length,
    );
  }

  /** Called when the datagrams of `prepare` have been received. */
  forgetMasks(): void {
    this.#masks.forget();
  }

  /** Processes one datagram. */
  receive(
    buffer: Uint8Array,
    offset: number,
    length: number,
    peer: IpEndpoint,
    own: IpEndpoint | undefined,
    ecn: Ecn,
    now: number,
  ): void {
    const { active } = this.#parts.paths;
    this.#peer = peer;
    this.#own = own;
    this.#ecn = ecn;
    this.#now = now;
    this.#bytes = length;
    this.#path = isSameEndpoint(peer, active.remote) ? active : undefined;
    this.#path?.onReceived(length);
    const end = offset + length;
    const used = this.#packets(buffer, offset, end);
    // Checked only when no packet was authentic (RFC 9000 §10.3.1).
    if (
      used === 0 &&
      this.#parts.lifecycle.isOpen &&
      this.#parts.peerIds.isStatelessReset(buffer, offset, length)
    ) {
      this.#parts.closing.end({ kind: 'stateless-reset', by: 'peer', code: 0, reason: '' }, now);
    }
    if (!this.#early.isEmpty) this.#retryEarly();
  }

  /** Processes the packets of a datagram. Returns the number of authentic ones. */
  #packets(buffer: Uint8Array, offset: number, end: number): number {
    const header = this.#header;
    let used = 0;
    let firstIdAt = -1;
    let firstIdEnd = -1;
    for (let at = offset; at < end; at = header.end) {
      const fault = readPacketHeader(buffer, at, end, this.#parts.localId.length, header);
      if (fault !== undefined) {
        this.#drop('header', end - at);
        break;
      }
      if (firstIdAt < 0) {
        firstIdAt = header.destinationIdOffset;
        firstIdEnd = firstIdAt + header.destinationIdSize;
      } else if (!isSameId(idOf(buffer, header), buffer.subarray(firstIdAt, firstIdEnd))) {
        // Receivers SHOULD ignore coalesced packets with another destination connection id (§12.2).
        this.#drop('connection-id', header.end - at);
        continue;
      }
      if (this.#packet(buffer)) used++;
      if (!this.#parts.lifecycle.isOpen) break;
    }
    return used;
  }

  /** Processes the packet of `#header`. Returns whether it was authentic. */
  #packet(buffer: Uint8Array): boolean {
    const { role } = this.#parts;
    if (this.#parts.work.isExceeded) return this.#drop('work');
    const header = this.#header;
    switch (header.type) {
      case PacketType.ONE_RTT:
        return this.#oneRtt(buffer);
      case PacketType.INITIAL:
        if (role === 'server' && this.#bytes < MIN_DATAGRAM) {
          return this.#drop('small-initial');
        }
        // A client MUST discard an Initial packet with a token, or close the connection (§17.2.2).
        if (role === 'client' && header.tokenSize > 0) return this.#drop('token');
        return this.#long(buffer, Space.INITIAL);
      case PacketType.HANDSHAKE:
        return this.#long(buffer, Space.HANDSHAKE);
      case PacketType.RETRY:
        return this.#negotiation?.onRetry(buffer, header, this.#now) === true
          ? true
          : this.#drop('type');
      case PacketType.VERSION_NEGOTIATION:
        this.#negotiation?.onVersionNegotiation(buffer, header, this.#now);
        return this.#drop('version');
      case PacketType.ZERO_RTT:
        return this.#drop('type');
      case PacketType.UNKNOWN_VERSION:
        return this.#drop('version');
      default:
        return header.type satisfies never;
    }
  }

  /** Processes an Initial or Handshake packet. */
  #long(buffer: Uint8Array, space: typeof Space.INITIAL | typeof Space.HANDSHAKE): boolean {
    const { keys, handshakeIds } = this.#parts;
    const header = this.#header;
    const { start, numberOffset, end } = header;
    if (keys.isDiscarded(space)) return this.#drop('old-keys');
    const opener = keys.opener(space);
    const schedule = this.#parts.acks[space];
    if (opener === undefined || schedule === undefined) return this.#keep(buffer);
    const { sourceIdOffset: idAt, sourceIdSize: idSize } = header;
    // Packets with another source connection id than the first MUST be discarded (§7.2).
    const { peerId } = handshakeIds;
    if (peerId !== undefined && !isSameId(buffer.subarray(idAt, idAt + idSize), peerId)) {
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
      this.#parts.peerIds.setFirst(handshakeIds.peerId, undefined);
    }
    const type = space === Space.INITIAL ? PacketType.INITIAL : PacketType.HANDSHAKE;
    this.#opened(buffer, space, type, number);
    return true;
  }

  #oneRtt(buffer: Uint8Array): boolean {
    const { keys } = this.#parts;
    const { start, numberOffset, end } = this.#header;
    const schedule = this.#parts.acks[Space.APPLICATION];
    if (schedule === undefined) return this.#drop('old-keys');
    // 1-RTT packets MUST NOT be processed before the handshake is complete (RFC 9001 §5.7).
    if (!keys.oneRtt.canRead || !this.#parts.tls.isComplete) return this.#keep(buffer);
    const { oneRtt } = keys;
    const { updates } = oneRtt;
    const now = this.#now;
    const { largestReceived } = schedule.ranges;
    const mask = this.#masks.indexOf(buffer, start);
    const number = oneRtt.unprotect(buffer, start, numberOffset, end, largestReceived, mask);
    if (number < 0) return this.#drop('authentication');
    const timeout = this.#parts.loss.probeTimeout();
    const result: OpenResult = oneRtt.open(buffer, start, numberOffset, end, number, now, timeout);
    if (result === 'dropped') return this.#drop('authentication');
    if (result !== 'opened') {
      this.#parts.closing.fail(result, now);
      return true;
    }
    if (oneRtt.updates !== updates) {
      this.#parts.telemetry.trace({ kind: 'key-update', updates: oneRtt.updates }, now);
    }
    this.#opened(buffer, Space.APPLICATION, PacketType.ONE_RTT, number);
    return true;
  }

  /** Processes the frames of the packet of `#header`, which is authentic; its plaintext is in the buffer. */
  #opened(buffer: Uint8Array, space: Space, type: FramesPacketType, number: number): void {
    const { lifecycle, closing } = this.#parts;
    const { start, numberOffset, end, destinationIdOffset, destinationIdSize } = this.#header;
    const now = this.#now;
    if (!lifecycle.isOpen) {
      closing.onPacket();
      return;
    }
    const schedule = this.#parts.acks[space];
    if (schedule === undefined) return;
    if (schedule.ranges.has(number)) {
      this.#drop('duplicate');
      return;
    }
    const first = buffer[start] as number; // the header was read
    if (hasReservedBits(first)) {
      closing.fail(
        new QuicError(TransportErrorCode.PROTOCOL_VIOLATION, 'reserved bits are set'),
        now,
      );
      return;
    }
    const path = this.#path ?? this.#otherPath();
    if (path === undefined) {
      this.#drop('address');
      return;
    }
    this.#parts.telemetry.onPacketReceived(space, number, end - start, now);
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
    this.#parts.work.add(reader.frames);
    if (error !== undefined) {
      closing.fail(error, now);
      return;
    }
    schedule.onReceived(number, reader.ackEliciting, this.#ecn, now);
    if (!lifecycle.isOpen) return;
    this.#parts.idle.onReceived(now);
    if (space !== Space.APPLICATION || lifecycle.state === 'handshaking') {
      this.#steps.afterPacket(space, now);
    } else if (path !== this.#parts.paths.active && isNewest && !reader.probing) {
      this.#pathChanges.moveTo(path, now);
    }
  }

  /** Returns the path of a datagram from an address other than that in use. */
  #otherPath(): Path | undefined {
    const path = this.#parts.paths.of(this.#peer, this.#own, this.#parts.lifecycle.isConfirmed);
    path?.onReceived(this.#bytes);
    this.#path = path;
    return path;
  }

  /** Keeps a packet that arrived before its keys. */
  #keep(buffer: Uint8Array): false {
    const { start, end } = this.#header;
    const isKept = this.#path !== undefined && this.#early.keep(buffer, start, end, this.#ecn);
    return isKept ? false : this.#drop('no-keys');
  }

  /** Processes the kept packets whose keys may have become available. */
  #retryEarly(): void {
    const { keys, lifecycle } = this.#parts;
    const isReady =
      keys.opener(Space.HANDSHAKE) !== undefined ||
      keys.isDiscarded(Space.HANDSHAKE) ||
      lifecycle.isEstablished ||
      !lifecycle.isOpen;
    if (!isReady) return;
    const waiting = this.#early.take();
    for (const { bytes, ecn } of waiting) {
      if (!lifecycle.isOpen) return;
      if (
        readPacketHeader(bytes, 0, bytes.length, this.#parts.localId.length, this.#header) !==
        undefined
      )
        continue;
      this.#ecn = ecn;
      this.#path = this.#parts.paths.active;
      this.#packet(bytes);
    }
  }

  #drop(reason: DropReason, bytes = this.#header.end - this.#header.start): false {
    this.#parts.telemetry.onPacketDropped(reason, bytes, this.#now);
    return false;
  }
}

const idOf = (
  buffer: Uint8Array,
  { destinationIdOffset: at, destinationIdSize: size }: PacketHeader,
): Uint8Array => buffer.subarray(at, at + size);
