import type { IpEndpoint } from '../../ip/ip-endpoint.ts';
import type { PendingFrames } from './pending-frames.ts';
import { MAX_BATCH_DATAGRAMS, MIN_DATAGRAM } from '../limits.ts';
import type { HandshakeSteps } from '../connection/handshake-steps.ts';
import type { PacketBuilder } from './packet-builder.ts';
import type { ConnectionParts } from '../connection/parts.ts';
import type { Path } from '../path/path.ts';
import { TAG_SIZE } from '../protection/packet-keys.ts';
import { Space, SPACES } from '../recovery/space.ts';
import type { TransmitBatch } from '../endpoint/transmit-batch.ts';
import {
  PATH_FRAME_SIZE,
  writePathChallenge,
  writePathResponse,
  writePing,
} from '../wire/frame-writers.ts';

/** Bytes below which a datagram is not worth starting within an amplification limit. */
const LEAST_DATAGRAM = 64;

/** The most bytes of PADDING that make a datagram as long as the others of its batch. */
const MOST_FILLING = 48;

/** ECT(0) (RFC 3168 §5). */
const ECT0 = 2;

/** What goes into the next datagrams, and in which order. */
export class PacketAssembler {
  readonly #parts: ConnectionParts;
  readonly #steps: HandshakeSteps;
  readonly #frames: PendingFrames;
  readonly #builder: PacketBuilder;
  /** Whether frames wait for the window or the pacer. */
  #isHeldBack = false;
  /** Whether no frames wait. */
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

  /** Whether the amplification limit lets a datagram leave. */
  get maySend(): boolean {
    return this.#parts.paths.active.amplificationBudget >= this.#leastDatagram;
  }

  /** Datagrams of a handshake are padded, so that less than that is no use. */
  get #leastDatagram(): number {
    return this.#parts.keys.canSeal(Space.INITIAL) ? MIN_DATAGRAM : LEAST_DATAGRAM;
  }

  /** Fills a batch. False when there is nothing that may leave. */
  assemble(out: TransmitBatch, now: number): boolean {
    const { deadlines, loss, lifecycle, streams } = this.#parts;
    this.#isHeldBack = this.#isAppLimited = false;
    const isFilled = this.#pathProbe(out, now) || this.#mtuProbe(out, now) || this.#batch(out, now);
    if (this.#isHeldBack) deadlines.set('pacing', loss.control.nextSendTime(now));
    else deadlines.clear('pacing');
    if (this.#isAppLimited && lifecycle.isEstablished) {
      loss.control.onAppLimited(streams.isFlowLimited);
    }
    return isFilled;
  }

  /** One datagram with CONNECTION_CLOSE, at each level that the peer may have keys for (RFC 9000 §10.2.3). */
  close(out: TransmitBatch, now: number): boolean {
    const { keys, paths, closing, role, handshake } = this.#parts;
    const path = paths.active;
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
      if (!keys.canSeal(space) || (isOneRtt && !handshake.isComplete)) continue;
      const at = builder.open(space, room);
      if (at < 0) continue;
      const end = closing.writeFrame(out.buffer, at, room - TAG_SIZE, isOneRtt);
      if (end === at) continue;
      builder.close(end, false, now);
      if (space === Space.INITIAL) pads = role === 'client';
    }
    if (builder.isEmpty) return false;
    if (pads) builder.pad(room);
    this.#leave(path, out, builder.finish(now));
    return true;
  }

  /** PATH_RESPONSE and PATH_CHALLENGE, in a datagram of their own on the path that they are for (§8.2). */
  #pathProbe(out: TransmitBatch, now: number): boolean {
    const { paths, lifecycle } = this.#parts;
    if (!lifecycle.isEstablished) return false;
    for (const path of paths.all) {
      if (path.responseDue === undefined && path.challengeDue === undefined) continue;
      if (this.#probePath(path, out, now)) return true;
    }
    return false;
  }

  #probePath(path: Path<IpEndpoint>, out: TransmitBatch, now: number): boolean {
    const { paths, loss, peerIds } = this.#parts;
    const isActive = path === paths.active;
    const room = Math.min(MIN_DATAGRAM, path.amplificationBudget);
    if (room < LEAST_DATAGRAM) return false;
    if (isActive && loss.control.allowance(now) <= 0) {
      this.#isHeldBack = true;
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
    this.#leave(path, out, builder.finish(now));
    return true;
  }

  /** A datagram that is larger than those so far, to find out whether it arrives (RFC 9000 §14.4). */
  #mtuProbe(out: TransmitBatch, now: number): boolean {
    const { paths, lifecycle, loss } = this.#parts;
    const path = paths.active;
    if (!lifecycle.isConfirmed || !path.isValidated) return false;
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
    this.#leave(path, out, builder.finish(now));
    return true;
  }

  /**
   * Datagrams of one size, the last of which may be shorter: what the path takes. Where the first one is
   * shorter, because DATAGRAM frames are not split and the next one found no room, the others follow its
   * size, so that one send takes them all.
   */
  #batch(out: TransmitBatch, now: number): boolean {
    const { paths, settings, loss, counters } = this.#parts;
    const path = paths.active;
    const least = this.#leastDatagram;
    loss.setAmplificationLimited(path.amplificationBudget < least, now);
    out.begin(path.remote, path.local);
    const builder = this.#builder;
    builder.marks = settings.ecn && loss.ecn.marks;
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
    counters.datagramsSent += count;
    counters.bytesSent += out.length;
    return true;
  }

  /** Assembles one datagram. Returns its bytes, 0 for none. */
  #datagram(out: Uint8Array, at: number, room: number, now: number): number {
    const { keys, role, lifecycle } = this.#parts;
    const builder = this.#builder;
    const limit = at + room;
    builder.begin(out, at);
    if (keys.canSeal(Space.INITIAL)) this.#packet(Space.INITIAL, out, limit, now);
    // A client pads all of them, a server those that have to be acknowledged (RFC 9000 §14.1).
    const pads = !builder.isEmpty && (role === 'client' || builder.isAckEliciting);
    const sendsHandshake =
      keys.canSeal(Space.HANDSHAKE) && this.#packet(Space.HANDSHAKE, out, limit, now);
    if (lifecycle.isEstablished) this.#packet(Space.APPLICATION, out, limit, now);
    if (builder.isEmpty) return 0;
    if (pads) builder.pad(at + MIN_DATAGRAM);
    // So that further datagrams may follow in the same send.
    else if (limit - builder.end <= MOST_FILLING && this.#frames.isDue(Space.APPLICATION)) {
      builder.pad(limit);
    }
    const size = builder.finish(now) - at;
    if (sendsHandshake) this.#steps.onHandshakePacketSent(now);
    return size;
  }

  /** Adds a packet to the datagram, if there is something for it. */
  #packet(space: Space, out: Uint8Array, limit: number, now: number): boolean {
    const { loss, received } = this.#parts;
    const frames = this.#frames;
    const schedule = received.of(space);
    const isAckDue = schedule !== undefined && schedule.deadline <= now;
    const isProbe = loss.probesDue(space) > 0;
    let mayElicit = isProbe;
    if (!isProbe) {
      if (!frames.isDue(space)) {
        if (space === Space.APPLICATION) this.#isAppLimited = true;
      } else if (loss.canSend(space)) {
        mayElicit = loss.control.allowance(now) > 0;
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

  /** A single datagram from the start of the batch up to `end`. */
  #leave(path: Path<IpEndpoint>, out: TransmitBatch, end: number): void {
    const { counters } = this.#parts;
    this.#builder.flush();
    out.length = end;
    path.onSent(end);
    counters.datagramsSent++;
    counters.bytesSent += end;
  }
}
