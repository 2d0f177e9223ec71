import { LevelFrames } from './level-frames.ts';
import { MAX_BATCH_DATAGRAMS, MIN_DATAGRAM } from './limits.ts';
import type { Milestones } from './milestones.ts';
import { PacketBuilder } from './packet-builder.ts';
import type { ConnectionParts } from './parts.ts';
import type { Path } from './path/path.ts';
import { Space, SPACES } from './recovery/space.ts';
import type { TransmitBatch } from './transmit-batch.ts';
import type { IpEndpoint } from '../ip/ip-endpoint.ts';

/** Bytes below which a datagram is not worth starting within an amplification limit. */
const LEAST_DATAGRAM = 64;

/** The most bytes of PADDING that make a datagram as long as the others of its batch. */
const MOST_FILLING = 48;

/** ECT(0) (RFC 3168 §5). */
const ECT0 = 2;

/** What goes into the next datagrams, and in which order. */
export class PacketAssembler {
  readonly #parts: ConnectionParts;
  readonly #milestones: Milestones;
  readonly #frames: LevelFrames;
  readonly #builder: PacketBuilder;
  /** Why the last datagram holds no more: the window or the pacer, with frames waiting. */
  #isHeldBack = false;
  #isAppLimited = false;

  constructor(parts: ConnectionParts, milestones: Milestones, builder: PacketBuilder) {
    this.#parts = parts;
    this.#milestones = milestones;
    this.#builder = builder;
    this.#frames = new LevelFrames(parts);
  }

  /** Fills a batch. False when there is nothing that may leave. */
  assemble(out: TransmitBatch, now: number): boolean {
    const { deadlines, loss, lifecycle } = this.#parts;
    if (this.#pathProbe(out, now) || this.#mtuProbe(out, now)) return true;
    const isFilled = this.#batch(out, now);
    if (this.#isHeldBack) deadlines.set('pacing', loss.control.nextSendTime(now));
    else deadlines.clear('pacing');
    if (this.#isAppLimited && lifecycle.isEstablished) loss.control.onAppLimited();
    return isFilled;
  }

  #batch(out: TransmitBatch, now: number): boolean {
    const { paths, settings, loss } = this.#parts;
    const path = paths.active;
    const full = path.mtu.current;
    out.begin(path.remote, path.local);
    this.#builder.marks = settings.ecn && loss.marks;
    this.#isHeldBack = this.#isAppLimited = false;
    let count = 0;
    while (count < MAX_BATCH_DATAGRAMS && out.length + full <= out.buffer.length) {
      const room = Math.min(full, path.amplificationBudget);
      const size = this.#datagram(out.buffer, out.length, room, count > 0 ? full : 0, now);
      if (size === 0) break;
      this.#account(path, size);
      out.length += size;
      count++;
      if (size < full) break;
    }
    this.#builder.flush();
    if (count === 0) return false;
    if (count > 1) out.segmentSize = full;
    out.ecn = this.#builder.marks ? ECT0 : 0;
    return true;
  }

  /** Assembles one datagram. Returns its bytes, 0 for none. */
  #datagram(out: Uint8Array, at: number, room: number, _others: number, now: number): number {
    const { keys, role, lifecycle } = this.#parts;
    if (room < LEAST_DATAGRAM) {
      this.#parts.loss.setAmplificationLimited(true, now);
      return 0;
    }
    const builder = this.#builder;
    const limit = at + room;
    builder.begin(out, at);
    const hasInitialKeys = keys.canSeal(Space.INITIAL);
    if (hasInitialKeys && room < MIN_DATAGRAM) return 0;
    if (hasInitialKeys) this.#packet(Space.INITIAL, limit, now);
    // A client pads all of them, a server those that have to be acknowledged (RFC 9000 §14.1).
    const pads = !builder.isEmpty && (role === 'client' || builder.isAckEliciting);
    if (keys.canSeal(Space.HANDSHAKE)) {
      if (this.#packet(Space.HANDSHAKE, limit, now)) this.#sendsHandshake = true;
    }
    if (keys.oneRtt.canWrite && lifecycle.isEstablished) {
      this.#packet(Space.APPLICATION, limit, now);
    }
    if (builder.isEmpty) return 0;
    const gap = limit - builder.end;
    if (pads) builder.pad(at + MIN_DATAGRAM);
    else if (gap > 0 && gap <= MOST_FILLING && this.#frames.hasMore) builder.pad(limit);
    const size = builder.finish(now) - at;
    if (this.#sendsHandshake) {
      this.#sendsHandshake = false;
      this.#milestones.onHandshakePacketSent(now);
    }
    return size;
  }

  #sendsHandshake = false;

  /** Adds a packet to the datagram, if there is something for it. */
  #packet(space: Space, limit: number, now: number): boolean {
    const { loss, received } = this.#parts;
    const frames = this.#frames;
    const schedule = received.of(space);
    const isAckDue = schedule !== undefined && schedule.deadline <= now;
    const probes = loss.probesDue(space);
    const hasFrames = probes > 0 || frames.isDue(space);
    let mayElicit = false;
    if (hasFrames) {
      mayElicit = probes > 0 || (loss.canSend(space) && loss.control.allowance(now) > 0);
      if (!mayElicit) this.#isHeldBack = true;
    } else if (space === Space.APPLICATION) this.#isAppLimited = true;
    if (!mayElicit && !isAckDue) return false;
    return this.#builder.add(space, limit, now, isAckDue || mayElicit, mayElicit, probes > 0);
  }
}
