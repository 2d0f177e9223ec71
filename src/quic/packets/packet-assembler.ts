import type { Role } from '../contract.ts';
import type { ConnectionSettings } from '../connection/connection-settings.ts';
import type { Lifecycle } from '../connection/lifecycle.ts';
import type { Deadlines } from '../connection/deadlines.ts';
import type { Closing } from '../connection/closing.ts';
import type { ConnectionKeys } from '../connection/connection-keys.ts';
import type { ConnectionTls } from '../connection/connection-tls.ts';
import type { PeerConnectionIds } from '../path/connection-ids.ts';
import type { Paths } from '../path/paths.ts';
import type { LossDetection } from '../recovery/loss-detection.ts';
import type { AckSchedules } from '../recovery/ack-schedule.ts';
import type { Streams } from '../streams/streams.ts';
import type { Telemetry } from '../connection/telemetry.ts';
import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { PendingFrames } from './pending-frames.ts';
import { MIN_DATAGRAM } from '../limits.ts';
import type { HandshakeSteps } from '../connection/handshake-steps.ts';
import type { PacketBuilder } from './packet-builder.ts';
import type { Path } from '../path/path.ts';
import { TAG_SIZE } from '../protection/packet-keys.ts';
import { Space, SPACES } from '../recovery/space.ts';
import { MAX_BATCH_DATAGRAMS, type TransmitBatch } from '../../net/sockets/transmit-batch.ts';
import {
  PATH_FRAME_SIZE,
  writePathChallenge,
  writePathResponse,
  writePing,
} from '../wire/frame-writers.ts';

/** Bytes that the anti-amplification limit must leave for a datagram to be started. */
const LEAST_DATAGRAM = 64;

/** The most bytes of PADDING that are added to give a datagram the size of the others in its batch. */
const MOST_FILLING = 48;

/** The ECN codepoint ECT(0) (RFC 3168 §5). */
const ECT0 = 2;

/** The parts of a connection that `PacketAssembler` uses. */
export interface PacketAssemblerParts {
  readonly role: Role;
  readonly settings: ConnectionSettings;
  readonly lifecycle: Lifecycle;
  readonly deadlines: Deadlines;
  readonly closing: Closing;
  readonly keys: ConnectionKeys;
  readonly tls: ConnectionTls;
  readonly peerIds: PeerConnectionIds;
  readonly paths: Paths<IpEndpoint>;
  readonly loss: LossDetection;
  readonly acks: AckSchedules;
  readonly streams: Streams;
  readonly telemetry: Telemetry;
}

/** Decides what packets the next datagrams contain, and when they may be sent. */
export class PacketAssembler {
  readonly #role: Role;
  readonly #settings: ConnectionSettings;
  readonly #lifecycle: Lifecycle;
  readonly #deadlines: Deadlines;
  readonly #closing: Closing;
  readonly #keys: ConnectionKeys;
  readonly #tls: ConnectionTls;
  readonly #peerIds: PeerConnectionIds;
  readonly #paths: Paths<IpEndpoint>;
  readonly #loss: LossDetection;
  readonly #acks: AckSchedules;
  readonly #streams: Streams;
  readonly #telemetry: Telemetry;
  readonly #steps: HandshakeSteps;
  readonly #frames: PendingFrames;
  readonly #builder: PacketBuilder;
  /** Whether frames wait for the congestion window or the pacer. */
  #isHeldBack = false;
  /** Whether there are no frames to send. */
  #isAppLimited = false;

  constructor(
    parts: PacketAssemblerParts,
    steps: HandshakeSteps,
    frames: PendingFrames,
    builder: PacketBuilder,
  ) {
    this.#role = parts.role;
    this.#settings = parts.settings;
    this.#lifecycle = parts.lifecycle;
    this.#deadlines = parts.deadlines;
    this.#closing = parts.closing;
    this.#keys = parts.keys;
    this.#tls = parts.tls;
    this.#peerIds = parts.peerIds;
    this.#paths = parts.paths;
    this.#loss = parts.loss;
    this.#acks = parts.acks;
    this.#streams = parts.streams;
    this.#telemetry = parts.telemetry;
    this.#steps = steps;
    this.#builder = builder;
    this.#frames = frames;
  }

  /** Whether the anti-amplification limit permits a datagram (RFC 9000 §8.1). */
  get maySend(): boolean {
    return this.#paths.active.amplificationBudget >= this.#leastDatagram();
  }

  /** Returns the smallest permitted datagram: 1,200 bytes with Initial packets (§14.1). */
  #leastDatagram(): number {
    return this.#keys.canSeal(Space.INITIAL) ? MIN_DATAGRAM : LEAST_DATAGRAM;
  }

  /** Fills a batch. Returns false when nothing may be sent. */
  assemble(out: TransmitBatch, now: number): boolean {
    this.#isHeldBack = this.#isAppLimited = false;
    const isFilled = this.#pathProbe(out, now) || this.#mtuProbe(out, now) || this.#batch(out, now);
    if (this.#isHeldBack) this.#deadlines.set('pacing', this.#loss.control.nextSendTime(now));
    else this.#deadlines.clear('pacing');
    if (this.#isAppLimited && this.#lifecycle.isEstablished) {
      this.#loss.control.onAppLimited(this.#streams.isFlowLimited);
    }
    return isFilled;
  }

  /** Writes one datagram with CONNECTION_CLOSE in each space for which the peer may have keys (RFC 9000 §10.2.3). */
  close(out: TransmitBatch, now: number): boolean {
    const path = this.#paths.active;
    this.#closing.onFrameSent();
    const room = Math.min(MIN_DATAGRAM, path.amplificationBudget);
    if (room < LEAST_DATAGRAM) return false;
    const builder = this.#builder;
    out.begin(path.remote, path.local);
    builder.marks = false;
    builder.begin(out.buffer, 0);
    let pads = false;
    for (const space of SPACES) {
      const isOneRtt = space === Space.APPLICATION;
      if (!this.#keys.canSeal(space) || (isOneRtt && !this.#tls.isComplete)) continue;
      const at = builder.open(space, room);
      if (at < 0) continue;
      const end = this.#closing.writeFrame(out.buffer, at, room - TAG_SIZE, isOneRtt);
      if (end === at) continue;
      builder.close(end, false, now);
      if (space === Space.INITIAL) pads = this.#role === 'client';
    }
    if (builder.isEmpty) return false;
    if (pads) builder.pad(room);
    this.#finishSingle(path, out, builder.finish(now));
    return true;
  }

  /** Writes PATH_RESPONSE and PATH_CHALLENGE, in a datagram of their own on their path (RFC 9000 §8.2). */
  #pathProbe(out: TransmitBatch, now: number): boolean {
    if (!this.#lifecycle.isEstablished) return false;
    for (const path of this.#paths.all) {
      if (path.responseDue === undefined && path.challengeDue === undefined) continue;
      if (this.#probePath(path, out, now)) return true;
    }
    return false;
  }

  #probePath(path: Path<IpEndpoint>, out: TransmitBatch, now: number): boolean {
    const isActive = path === this.#paths.active;
    const room = Math.min(MIN_DATAGRAM, path.amplificationBudget);
    if (room < LEAST_DATAGRAM) return false;
    if (isActive && this.#loss.control.allowance(now) <= 0) {
      this.#isHeldBack = true;
      return false;
    }
    const builder = this.#builder;
    out.begin(path.remote, path.local);
    builder.marks = false;
    const id = isActive ? this.#peerIds.current : this.#peerIds.idFor(path);
    builder.begin(out.buffer, 0, false, !isActive, id);
    let next = builder.open(Space.APPLICATION, room);
    if (next < 0) return false;
    const { responseDue, challengeDue } = path;
    if (responseDue !== undefined) {
      next = writePathResponse(out.buffer, next, responseDue);
      path.onResponseSent();
    }
    if (challengeDue !== undefined && next + PATH_FRAME_SIZE + TAG_SIZE <= room) {
      next = writePathChallenge(out.buffer, next, challengeDue);
      path.onChallengeSent(room === MIN_DATAGRAM, now);
    }
    builder.close(next, true, now);
    builder.pad(room);
    this.#finishSingle(path, out, builder.finish(now));
    return true;
  }

  /** Writes a PMTU probe: a datagram larger than the path is known to support (RFC 9000 §14.4). */
  #mtuProbe(out: TransmitBatch, now: number): boolean {
    const path = this.#paths.active;
    if (!this.#lifecycle.isConfirmed || !path.isValidated) return false;
    const { control } = this.#loss;
    if (control.allowance(now) <= 0 || !this.#loss.canSend(Space.APPLICATION)) return false;
    const size = path.mtu.probeSize(now);
    if (size === 0 || size > out.buffer.length) return false;
    if (control.inFlight + size > control.controller.window) return false;
    const builder = this.#builder;
    out.begin(path.remote, path.local);
    builder.marks = false;
    builder.begin(out.buffer, 0, true);
    const at = builder.open(Space.APPLICATION, size);
    if (at < 0) return false;
    builder.close(writePing(out.buffer, at), true, now);
    builder.pad(size);
    path.mtu.onProbeSent(size);
    this.#finishSingle(path, out, builder.finish(now));
    return true;
  }

  /**
   * Fills a batch with datagrams of one size, that of the path, of which the last may be shorter. If the first one is
   * shorter, because the next DATAGRAM frame did not fit, its size is the size of all, so that one send takes them.
   */
  #batch(out: TransmitBatch, now: number): boolean {
    const path = this.#paths.active;
    const least = this.#leastDatagram();
    this.#loss.setAmplificationLimited(path.amplificationBudget < least, now);
    out.begin(path.remote, path.local);
    const builder = this.#builder;
    builder.marks = this.#settings.ecn && this.#loss.ecn.marks;
    let segment = path.mtu.current;
    let count = 0;
    while (count < MAX_BATCH_DATAGRAMS && out.length + segment <= out.buffer.length) {
      const room = Math.min(segment, path.amplificationBudget);
      if (room < least) break;
      const size = this.#datagram(out.buffer, out.length, room, now);
      if (size === 0) break;
      path.onSent(size);
      out.length += size;
      count++;
      if (size === segment) continue;
      if (count > 1 || !this.#frames.areAllDatagrams) break;
      segment = size;
    }
    builder.flush();
    if (!path.isValidated)
      this.#loss.setAmplificationLimited(path.amplificationBudget < least, now);
    if (count === 0) return false;
    if (count > 1) out.segmentSize = segment;
    out.ecn = builder.marks ? ECT0 : 0;
    this.#telemetry.datagramsSent += count;
    this.#telemetry.bytesSent += out.length;
    return true;
  }

  /** Assembles one datagram. Returns its size; 0 for none. */
  #datagram(out: Uint8Array, at: number, room: number, now: number): number {
    const builder = this.#builder;
    const limit = at + room;
    builder.begin(out, at);
    if (this.#keys.canSeal(Space.INITIAL)) this.#packet(Space.INITIAL, out, limit, now);
    // A client MUST expand all datagrams with Initial packets, a server the ack-eliciting ones (RFC 9000 §14.1).
    const pads = !builder.isEmpty && (this.#role === 'client' || builder.isAckEliciting);
    const sendsHandshake =
      this.#keys.canSeal(Space.HANDSHAKE) && this.#packet(Space.HANDSHAKE, out, limit, now);
    if (this.#lifecycle.isEstablished) this.#packet(Space.APPLICATION, out, limit, now);
    if (builder.isEmpty) return 0;
    if (pads) builder.pad(at + MIN_DATAGRAM);
    // A datagram of full size permits further ones in the same send.
    else if (limit - builder.end <= MOST_FILLING && this.#frames.isDue(Space.APPLICATION)) {
      builder.pad(limit);
    }
    const size = builder.finish(now) - at;
    if (sendsHandshake) this.#steps.onHandshakePacketSent(now);
    return size;
  }

  /** Adds a packet to the datagram, if there are frames for it. Returns whether it did. */
  #packet(space: Space, out: Uint8Array, limit: number, now: number): boolean {
    const frames = this.#frames;
    const schedule = this.#acks.of(space);
    const isAckDue = schedule !== undefined && schedule.deadline <= now;
    const isProbe = this.#loss.probesDue(space) > 0;
    let mayElicit = isProbe;
    if (!isProbe) {
      if (!frames.isDue(space)) {
        if (space === Space.APPLICATION) this.#isAppLimited = true;
      } else if (this.#loss.canSend(space)) {
        mayElicit = this.#loss.control.allowance(now) > 0;
        if (!mayElicit) this.#isHeldBack = true;
      }
    }
    if (!mayElicit && !isAckDue) return false;
    const builder = this.#builder;
    const at = builder.open(space, limit);
    if (at < 0) return false;
    const end = frames.write(space, out, at, limit - TAG_SIZE, mayElicit, isProbe, now);
    if (end === at) return false;
    builder.close(end, frames.isAckEliciting, now);
    return true;
  }

  /** Finishes a batch that is a single datagram up to `end`. */
  #finishSingle(path: Path<IpEndpoint>, out: TransmitBatch, end: number): void {
    this.#builder.flush();
    out.length = end;
    path.onSent(end);
    this.#telemetry.datagramsSent++;
    this.#telemetry.bytesSent += end;
  }
}
