import type { Role } from '../contract.ts';
import type { Lifecycle } from '../connection/lifecycle.ts';
import type { IdleTimeout } from '../connection/idle-timeout.ts';
import type { Closing } from '../connection/closing.ts';
import type { ConnectionKeys } from '../connection/connection-keys.ts';
import type { ConnectionTls } from '../connection/connection-tls.ts';
import { type HandshakeIds, isSameId } from '../connection/handshake-ids.ts';
import type { PeerConnectionIds } from '../path/connection-ids.ts';
import type { Paths } from '../path/paths.ts';
import type { LossDetection } from '../recovery/loss-detection.ts';
import type { AckSchedules } from '../recovery/ack-schedule.ts';
import type { Telemetry } from '../connection/telemetry.ts';
import type { TurnWork } from './turn-work.ts';
import type { Ecn } from '../../ip/datagram-socket.ts';
import { isSameEndpoint, type IpEndpoint } from '../../ip/ip-endpoint.ts';
import { EarlyPackets } from './early-packets.ts';
import { QuicError, TransportErrorCode } from '../errors.ts';
import type { FrameHandler } from './frame-handler.ts';
import { MIN_DATAGRAM } from '../limits.ts';
import type { HandshakeSteps } from '../connection/handshake-steps.ts';
import type { PathChanges } from '../path/path-changes.ts';
import type { Path } from '../path/path.ts';
import type { OpenResult } from '../protection/one-rtt-keys.ts';
import { PreparedMasks } from './prepared-masks.ts';
import { TAG_SIZE } from '../protection/packet-keys.ts';
import { Space } from '../recovery/space.ts';
import type { ClientNegotiation } from '../connection/client-negotiation.ts';
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
import { copyOf } from '../../collections/copy-bytes.ts';

/** The datagram that is being processed. One record is reused. */
interface Arrival {
  peer: IpEndpoint;
  own: IpEndpoint | undefined;
  ecn: Ecn;
  now: number;
  /** The path of the datagram; `undefined` until a packet from a new address was authenticated. */
  path: Path<IpEndpoint> | undefined;
  /** Number of bytes of the datagram. */
  bytes: number;
}

/** The parts of a connection that `PacketReceiver` uses. */
export interface PacketReceiverParts {
  readonly role: Role;
  readonly lifecycle: Lifecycle;
  readonly idle: IdleTimeout;
  readonly closing: Closing;
  readonly keys: ConnectionKeys;
  readonly tls: ConnectionTls;
  readonly handshakeIds: HandshakeIds;
  readonly localIdSize: number;
  readonly peerIds: PeerConnectionIds;
  readonly paths: Paths<IpEndpoint>;
  readonly loss: LossDetection;
  readonly acks: AckSchedules;
  readonly telemetry: Telemetry;
  readonly work: TurnWork;
}

/** Processes the packets of a datagram: decrypts and reads, or drops them (RFC 9000 §5.2, §12). */
export class PacketReceiver {
  readonly #role: Role;
  readonly #lifecycle: Lifecycle;
  readonly #idle: IdleTimeout;
  readonly #closing: Closing;
  readonly #keys: ConnectionKeys;
  readonly #tls: ConnectionTls;
  readonly #handshakeIds: HandshakeIds;
  readonly #localIdSize: number;
  readonly #peerIds: PeerConnectionIds;
  readonly #paths: Paths<IpEndpoint>;
  readonly #loss: LossDetection;
  readonly #acks: AckSchedules;
  readonly #telemetry: Telemetry;
  readonly #work: TurnWork;
  readonly #handler: FrameHandler;
  readonly #steps: HandshakeSteps;
  readonly #pathChanges: PathChanges;
  readonly #negotiation: ClientNegotiation | undefined;
  readonly #reader: FrameReader;
  readonly #header = new PacketHeader();
  readonly #early = new EarlyPackets();
  readonly #arrival: Arrival;
  readonly #masks = new PreparedMasks();

  /** @param negotiation handles Retry and Version Negotiation packets; for clients only. */
  constructor(
    parts: PacketReceiverParts,
    handler: FrameHandler,
    steps: HandshakeSteps,
    pathChanges: PathChanges,
    negotiation: ClientNegotiation | undefined,
  ) {
    this.#role = parts.role;
    this.#lifecycle = parts.lifecycle;
    this.#idle = parts.idle;
    this.#closing = parts.closing;
    this.#keys = parts.keys;
    this.#tls = parts.tls;
    this.#handshakeIds = parts.handshakeIds;
    this.#localIdSize = parts.localIdSize;
    this.#peerIds = parts.peerIds;
    this.#paths = parts.paths;
    this.#loss = parts.loss;
    this.#acks = parts.acks;
    this.#telemetry = parts.telemetry;
    this.#work = parts.work;
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

  /** Computes the header protection masks of the datagrams received next; see `PreparedMasks`. */
  prepare(buffer: Uint8Array, offset: number, stride: number, end: number): void {
    this.#masks.prepare(this.#keys.oneRtt, buffer, offset, stride, end, this.#localIdSize);
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
    const arrival = this.#arrival;
    const { active } = this.#paths;
    arrival.peer = peer;
    arrival.own = own;
    arrival.ecn = ecn;
    arrival.now = now;
    arrival.bytes = length;
    arrival.path = isSameEndpoint(peer, active.remote) ? active : undefined;
    arrival.path?.onReceived(length);
    const end = offset + length;
    const used = this.#packets(buffer, offset, end);
    // Checked only when no packet was authentic (RFC 9000 §10.3.1).
    if (
      used === 0 &&
      this.#lifecycle.isOpen &&
      this.#peerIds.isStatelessReset(buffer, offset, length)
    ) {
      this.#closing.end({ kind: 'stateless-reset', by: 'peer', code: 0, reason: '' }, now);
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
      const fault = readPacketHeader(buffer, at, end, this.#localIdSize, header);
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
      if (!this.#lifecycle.isOpen) break;
    }
    return used;
  }

  /** Processes the packet of `#header`. Returns whether it was authentic. */
  #packet(buffer: Uint8Array): boolean {
    if (this.#work.isExceeded) return this.#drop('work');
    const header = this.#header;
    switch (header.type) {
      case PacketType.ONE_RTT:
        return this.#oneRtt(buffer);
      case PacketType.INITIAL:
        if (this.#role === 'server' && this.#arrival.bytes < MIN_DATAGRAM) {
          return this.#drop('small-initial');
        }
        // A client MUST discard an Initial packet with a token, or close the connection (§17.2.2).
        if (this.#role === 'client' && header.tokenSize > 0) return this.#drop('token');
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

  /** Processes an Initial or Handshake packet. */
  #long(buffer: Uint8Array, space: typeof Space.INITIAL | typeof Space.HANDSHAKE): boolean {
    const header = this.#header;
    const { start, numberOffset, end } = header;
    if (this.#keys.isDiscarded(space)) return this.#drop('old-keys');
    const opener = this.#keys.opener(space);
    const schedule = this.#acks.of(space);
    if (opener === undefined || schedule === undefined) return this.#keep(buffer);
    const { sourceIdOffset: idAt, sourceIdSize: idSize } = header;
    // Packets with another source connection id than the first MUST be discarded (§7.2).
    const { peerId } = this.#handshakeIds;
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
      this.#handshakeIds.peerId = copyOf(buffer, idAt, idAt + idSize);
      this.#peerIds.setFirst(this.#handshakeIds.peerId, undefined);
    }
    const type = space === Space.INITIAL ? PacketType.INITIAL : PacketType.HANDSHAKE;
    this.#opened(buffer, space, type, number);
    return true;
  }

  #oneRtt(buffer: Uint8Array): boolean {
    const { start, numberOffset, end } = this.#header;
    const schedule = this.#acks.of(Space.APPLICATION);
    if (schedule === undefined) return this.#drop('old-keys');
    // 1-RTT packets MUST NOT be processed before the handshake is complete (RFC 9001 §5.7).
    if (!this.#keys.oneRtt.canRead || !this.#tls.isComplete) return this.#keep(buffer);
    const { oneRtt } = this.#keys;
    const { updates } = oneRtt;
    const { now } = this.#arrival;
    const { largestReceived } = schedule.ranges;
    const mask = this.#masks.indexOf(buffer, start);
    const number = oneRtt.unprotect(buffer, start, numberOffset, end, largestReceived, mask);
    if (number < 0) return this.#drop('authentication');
    const timeout = this.#loss.probeTimeout();
    const result: OpenResult = oneRtt.open(buffer, start, numberOffset, end, number, now, timeout);
    if (result === 'dropped') return this.#drop('authentication');
    if (result !== 'opened') {
      this.#closing.fail(result, now);
      return true;
    }
    if (oneRtt.updates !== updates) {
      this.#telemetry.trace({ kind: 'key-update', updates: oneRtt.updates }, now);
    }
    this.#opened(buffer, Space.APPLICATION, PacketType.ONE_RTT, number);
    return true;
  }

  /** Processes the frames of the packet of `#header`, which is authentic; its plaintext is in the buffer. */
  #opened(buffer: Uint8Array, space: Space, type: FramesPacketType, number: number): void {
    const { start, numberOffset, end, destinationIdOffset, destinationIdSize } = this.#header;
    const arrival = this.#arrival;
    const { now } = arrival;
    if (!this.#lifecycle.isOpen) {
      this.#closing.onPacket();
      return;
    }
    const schedule = this.#acks.of(space);
    if (schedule === undefined) return;
    if (schedule.ranges.has(number)) {
      this.#drop('duplicate');
      return;
    }
    const first = buffer[start] as number; // the header was read
    if (hasReservedBits(first)) {
      this.#closing.fail(
        new QuicError(TransportErrorCode.PROTOCOL_VIOLATION, 'reserved bits are set'),
        now,
      );
      return;
    }
    const path = arrival.path ?? this.#otherPath();
    if (path === undefined) {
      this.#drop('address');
      return;
    }
    this.#telemetry.onPacketReceived(space, number, end - start, now);
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
    this.#work.add(reader.frames);
    if (error !== undefined) {
      this.#closing.fail(error, now);
      return;
    }
    schedule.onReceived(number, reader.ackEliciting, arrival.ecn, now);
    if (!this.#lifecycle.isOpen) return;
    this.#idle.onReceived(now);
    if (space !== Space.APPLICATION || this.#lifecycle.state === 'handshaking') {
      this.#steps.afterPacket(space, now);
    } else if (path !== this.#paths.active && isNewest && !reader.probing) {
      this.#pathChanges.moveTo(path, now);
    }
  }

  /** Returns the path of a datagram from an address other than that in use. */
  #otherPath(): Path<IpEndpoint> | undefined {
    const arrival = this.#arrival;
    const path = this.#paths.of(arrival.peer, arrival.own, this.#lifecycle.isConfirmed);
    path?.onReceived(arrival.bytes);
    arrival.path = path;
    return path;
  }

  /** Keeps a packet that arrived before its keys. */
  #keep(buffer: Uint8Array): false {
    const { start, end } = this.#header;
    const arrival = this.#arrival;
    const isKept = arrival.path !== undefined && this.#early.keep(buffer, start, end, arrival.ecn);
    return isKept ? false : this.#drop('no-keys');
  }

  /** Processes the kept packets whose keys may have become available. */
  #retryEarly(): void {
    const isReady =
      this.#keys.opener(Space.HANDSHAKE) !== undefined ||
      this.#keys.isDiscarded(Space.HANDSHAKE) ||
      this.#lifecycle.isEstablished ||
      !this.#lifecycle.isOpen;
    if (!isReady) return;
    const waiting = this.#early.take();
    for (const { bytes, ecn } of waiting) {
      if (!this.#lifecycle.isOpen) return;
      if (readPacketHeader(bytes, 0, bytes.length, this.#localIdSize, this.#header) !== undefined)
        continue;
      this.#arrival.ecn = ecn;
      this.#arrival.path = this.#paths.active;
      this.#packet(bytes);
    }
  }

  #drop(reason: DropReason, bytes = this.#header.end - this.#header.start): false {
    this.#telemetry.onPacketDropped(reason, bytes, this.#arrival.now);
    return false;
  }
}

const idOf = (
  buffer: Uint8Array,
  { destinationIdOffset: at, destinationIdSize: size }: PacketHeader,
): Uint8Array => buffer.subarray(at, at + size);
