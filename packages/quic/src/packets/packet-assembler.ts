import type { ConnectionParts } from '../connection/parts.ts';
import type { PendingFrames } from './pending-frames.ts';
import { MIN_DATAGRAM } from '../limits.ts';
import type { HandshakeSteps } from '../connection/handshake-steps.ts';
import type { PacketBuilder } from './packet-builder.ts';
import type { Path } from '../path/paths.ts';
import { TAG_SIZE } from '../protection/packet-keys.ts';
import { Space, SPACES } from '../wire/packet-header.ts';
import { MAX_BATCH_DATAGRAMS, type TransmitBatch } from '@weir/io/datagrams';
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

/** Decides what packets the next datagrams contain, and when they may be sent. */
export class PacketAssembler {
  readonly #parts: ConnectionParts;
  readonly #steps: HandshakeSteps;
  readonly #frames: PendingFrames;
  readonly #builder: PacketBuilder;
  /** Whether frames wait for the congestion window or the pacer. */
  #isPaused = false;
  /** Whether there are no frames to send. */
  #isAppLimited = false;

  constructor(
    parts: ConnectionParts,
    steps: HandshakeSteps,
    frames: PendingFrames,
    builder: PacketBuilder,
  ) {
    this.#parts = parts;
    this.#steps = steps;
    this.#builder = builder;
    this.#frames = frames;
  }

  /** Whether the anti-amplification limit permits a datagram (RFC 9000 §8.1). */
  get maySend(): boolean {
    return this.#parts.paths.active.amplificationBudget >= this.#leastDatagram();
  }

  /** Returns the smallest permitted datagram: 1,200 bytes with Initial packets (§14.1). */
  #leastDatagram(): number {
    return this.#parts.keys.canSeal(Space.INITIAL) ? MIN_DATAGRAM : LEAST_DATAGRAM;
  }

  /** Fills a batch. Returns false when nothing may be sent. */
  assemble(out: TransmitBatch, now: number): boolean {
    const { deadlines, loss } = this.#parts;
    this.#isPaused = this.#isAppLimited = false;
    const isFilled = this.#pathProbe(out, now) || this.#mtuProbe(out, now) || this.#batch(out, now);
    if (this.#isPaused) deadlines.set('pacing', loss.control.nextSendTime(now));
    else deadlines.clear('pacing');
    if (this.#isAppLimited && this.#parts.lifecycle.isEstablished) {
      loss.control.onAppLimited(this.#parts.streams.isFlowLimited);
    }
    return isFilled;
  }

  /** Writes one datagram with CONNECTION_CLOSE in each space for which the peer may have keys (RFC 9000 §10.2.3). */
  close(out: TransmitBatch, now: number): boolean {
    const { closing } = this.#parts;
    const path = this.#parts.paths.active;
    closing.onFrameSent();
    const room = Math.min(MIN_DATAGRAM, path.amplificationBudget);
    if (room < LEAST_DATAGRAM) return false;
    const builder = this.#builder;
    out.begin(path.remote, path.local);
    builder.marks = false;
    builder.begin(out.buffer, 0);
    let pads = false;
    for (const space of SPACES) {
      const isOneRtt = space === Space.APPLICATION;
      if (!this.#parts.keys.canSeal(space) || (isOneRtt && !this.#parts.tls.isComplete)) continue;
      const at = builder.open(space, room);
      if (at < 0) continue;
      const end = closing.writeFrame(out.buffer, at, room - TAG_SIZE, isOneRtt);
      if (end === at) continue;
      builder.close(end, false, now);
      if (space === Space.INITIAL) pads = this.#parts.role === 'client';
    }
    if (builder.isEmpty) return false;
    if (pads) builder.pad(room);
    this.#finishSingle(path, out, builder.finish(now));
    return true;
  }

  /** Writes PATH_RESPONSE and PATH_CHALLENGE, in a datagram of their own on their path (RFC 9000 §8.2). */
  #pathProbe(out: TransmitBatch, now: number): boolean {
    if (!this.#parts.lifecycle.isEstablished) return false;
    for (const path of this.#parts.paths.all) {
      if (path.responseDue === undefined && path.challengeDue === undefined) continue;
      if (this.#probePath(path, out, now)) return true;
    }
    return false;
  }

  #probePath(path: Path, out: TransmitBatch, now: number): boolean {
    const { peerIds } = this.#parts;
    const isActive = path === this.#parts.paths.active;
    const room = Math.min(MIN_DATAGRAM, path.amplificationBudget);
    if (room < LEAST_DATAGRAM) return false;
    if (isActive && this.#parts.loss.control.allowance(now) <= 0) {
      this.#isPaused = true;
      return false;
    }
    const builder = this.#builder;
    out.begin(path.remote, path.local);
    builder.marks = false;
    const id = isActive ? peerIds.current : peerIds.idFor(path);
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
    const { loss } = this.#parts;
    const path = this.#parts.paths.active;
    if (!this.#parts.lifecycle.isConfirmed || !path.isValidated) return false;
    const { control } = loss;
    if (control.allowance(now) <= 0 || !loss.canSend(Space.APPLICATION)) return false;
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
    const { loss, telemetry } = this.#parts;
    const path = this.#parts.paths.active;
    const least = this.#leastDatagram();
    loss.setAmplificationLimited(path.amplificationBudget < least, now);
    out.begin(path.remote, path.local);
    const builder = this.#builder;
    builder.marks = this.#parts.settings.ecn && loss.ecn.marks;
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
    if (!path.isValidated) loss.setAmplificationLimited(path.amplificationBudget < least, now);
    if (count === 0) return false;
    if (count > 1) out.segmentSize = segment;
    out.ecn = builder.marks ? ECT0 : 0;
    telemetry.datagramsSent += count;
    telemetry.bytesSent += out.length;
    return true;
  }

  /** Assembles one datagram. Returns its size; 0 for none. */
  #datagram(out: Uint8Array, at: number, room: number, now: number): number {
    const { keys } = this.#parts;
    const builder = this.#builder;
    const limit = at + room;
    builder.begin(out, at);
    if (keys.canSeal(Space.INITIAL)) this.#packet(Space.INITIAL, out, limit, now);
    // A client MUST expand all datagrams with Initial packets, a server the ack-eliciting ones (RFC 9000 §14.1).
    const pads = !builder.isEmpty && (this.#parts.role === 'client' || builder.isAckEliciting);
    const sendsHandshake =
      keys.canSeal(Space.HANDSHAKE) && this.#packet(Space.HANDSHAKE, out, limit, now);
    if (this.#parts.lifecycle.isEstablished) this.#packet(Space.APPLICATION, out, limit, now);
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
    const { loss } = this.#parts;
    const frames = this.#frames;
    const schedule = this.#parts.acks[space];
    const isAckDue = schedule !== undefined && schedule.deadline <= now;
    const isProbe = loss.probesDue(space) > 0;
    let mayElicit = isProbe;
    if (!isProbe) {
      if (!frames.isDue(space)) {
        if (space === Space.APPLICATION) this.#isAppLimited = true;
      } else if (loss.canSend(space)) {
        mayElicit = loss.control.allowance(now) > 0;
        if (!mayElicit) this.#isPaused = true;
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
  #finishSingle(path: Path, out: TransmitBatch, end: number): void {
    const { telemetry } = this.#parts;
    this.#builder.flush();
    out.length = end;
    path.onSent(end);
    telemetry.datagramsSent++;
    telemetry.bytesSent += end;
  }
}
