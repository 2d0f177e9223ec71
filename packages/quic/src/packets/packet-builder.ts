import type { ConnectionParts } from '../connection/parts.ts';
import { TAG_SIZE } from '../protection/packet-keys.ts';
import type { SentPacket } from '../recovery/loss-detection.ts';
import {
  Space,
  longHeaderSize,
  PacketType,
  writeLength,
  writeLongHeader,
  writeShortHeader,
  MAX_PACKET_NUMBER_SIZE,
  packetNumberSize,
  writePacketNumber,
} from '../wire/packet-header.ts';
import { writePadding } from '../wire/frame-writers.ts';

/** Bytes of packet number and plaintext that header protection needs (RFC 9001 §5.4.2). */
const LEAST_PROTECTED = 4;

const NO_TOKEN = new Uint8Array(0);

/**
 * Builds the packets of one datagram after another (RFC 9000 §12.2): headers, padding, protection, and the
 * record for loss detection. The last packet is closed, but sealed only once it is known whether it is padded.
 */
export class PacketBuilder {
  readonly #parts: ConnectionParts;
  readonly #sent: SentPacket = {
    number: 0,
    bytes: 0,
    ackEliciting: false,
    inFlight: false,
    ect0: false,
    mtuProbe: false,
    offPath: false,
  };
  /** The token of a client's Initial packets. */
  token: Uint8Array;
  /** Whether the datagrams will be sent with ECT(0). */
  marks = false;

  #out: Uint8Array = NO_TOKEN;
  #destinationId: Uint8Array = NO_TOKEN;
  /** The end of the finished packets of the datagram. */
  #start = 0;
  /** The packet that is closed, but not yet sealed. */
  #space: Space = Space.INITIAL;
  #numberAt = 0;
  #numberSize = 0;
  #number = 0;
  #end = 0;
  #hasPacket = false;
  #isEliciting = false;
  #isPadded = false;
  /** The packet that is open. */
  #nextSpace: Space = Space.INITIAL;
  #nextStart = 0;
  #nextNumberAt = 0;
  #nextNumberSize = 0;
  #nextNumber = 0;
  /** Whether a packet of the datagram is ack-eliciting. */
  isAckEliciting = false;

  constructor(parts: ConnectionParts, token: Uint8Array = NO_TOKEN) {
    this.#parts = parts;
    this.token = token;
  }

  /**
   * Starts a datagram.
   *
   * @param mtuProbe see `SentPacket`.
   * @param offPath see `SentPacket`.
   * @param id the destination connection id of its packets.
   */
  begin(
    out: Uint8Array,
    at: number,
    mtuProbe = false,
    offPath = false,
    id = this.#parts.peerIds.current,
  ): void {
    this.#destinationId = id;
    this.#out = out;
    this.#start = at;
    this.#hasPacket = false;
    this.isAckEliciting = false;
    this.#sent.mtuProbe = mtuProbe;
    this.#sent.offPath = offPath;
  }

  /** Whether the datagram holds no packet yet. */
  get isEmpty(): boolean {
    return !this.#hasPacket;
  }

  /** The end of the datagram if it were finished now. */
  get end(): number {
    return this.#hasPacket ? this.#end + TAG_SIZE : this.#start;
  }

  /**
   * Writes the header of a further packet.
   * @returns where its frames start; -1 when there is no room for any.
   */
  open(space: Space, limit: number): number {
    const { loss, localId } = this.#parts;
    const out = this.#out;
    const at = this.end;
    const id = this.#destinationId;
    const number = loss.nextNumber(space);
    const numberSize = packetNumberSize(number, loss.largestAckedPacket(space));
    this.#nextSpace = space;
    this.#nextStart = at;
    this.#nextNumber = number;
    this.#nextNumberSize = numberSize;
    if (space === Space.APPLICATION) {
      const header = 1 + id.length + MAX_PACKET_NUMBER_SIZE;
      if (at + header + LEAST_PROTECTED + TAG_SIZE > limit) return -1;
      this.#nextNumberAt = writeShortHeader(
        out,
        at,
        numberSize,
        this.#parts.keys.oneRtt.writePhase,
        id,
      );
    } else {
      const type = space === Space.INITIAL ? PacketType.INITIAL : PacketType.HANDSHAKE;
      const token = space === Space.INITIAL ? this.token : NO_TOKEN;
      const header = longHeaderSize(type, id.length, localId.length, token.length);
      if (at + header + MAX_PACKET_NUMBER_SIZE + LEAST_PROTECTED + TAG_SIZE > limit) return -1;
      this.#nextNumberAt = writeLongHeader(out, at, type, numberSize, id, localId, token);
    }
    return writePacketNumber(out, this.#nextNumberAt, number, numberSize);
  }

  /** Ends the packet of `open` at `end`. A packet that is not closed is not sent. */
  close(end: number, ackEliciting: boolean, now: number): void {
    this.#finishPacket(now);
    this.#space = this.#nextSpace;
    this.#start = this.#nextStart;
    this.#numberAt = this.#nextNumberAt;
    this.#numberSize = this.#nextNumberSize;
    this.#number = this.#nextNumber;
    const least = this.#numberAt + LEAST_PROTECTED;
    this.#end = end < least ? writePadding(this.#out, end, least - end) : end;
    this.#isEliciting = ackEliciting;
    this.#isPadded = false;
    this.#hasPacket = true;
    if (ackEliciting) this.isAckEliciting = true;
  }

  /** Pads the datagram up to this offset. */
  pad(until: number): void {
    const missing = until - TAG_SIZE - this.#end;
    if (missing <= 0) return;
    this.#end = writePadding(this.#out, this.#end, missing);
    this.#isPadded = true;
  }

  /** Finishes the datagram. Returns the offset after it. */
  finish(now: number): number {
    const { end } = this;
    this.#finishPacket(now);
    this.#hasPacket = false;
    return end;
  }

  /** Protects the headers of the packets since the last call, before they are sent. */
  flush(): void {
    this.#parts.keys.oneRtt.protectHeaders();
  }

  #finishPacket(now: number): void {
    const { keys } = this.#parts;
    if (!this.#hasPacket) return;
    const space = this.#space;
    const out = this.#out;
    const start = this.#start;
    const numberAt = this.#numberAt;
    const numberSize = this.#numberSize;
    const number = this.#number;
    if (space === Space.APPLICATION) {
      keys.oneRtt.seal(out, start, numberAt, numberSize, this.#end, number);
    } else {
      const sealer = keys.sealer(space);
      writeLength(out, numberAt, this.#end + TAG_SIZE);
      sealer?.seal(out, start, numberAt, numberSize, this.#end, number);
      sealer?.protectHeaders();
    }
    const sent = this.#sent;
    sent.number = number;
    sent.bytes = this.#end + TAG_SIZE - start;
    sent.ackEliciting = this.#isEliciting;
    sent.inFlight = this.#isEliciting || this.#isPadded;
    sent.ect0 = this.marks;
    this.#parts.loss.onSent(space, sent, now);
    if (this.#isEliciting) this.#parts.idle.onSent(now);
    this.#parts.telemetry.onPacketSent(space, number, sent.bytes, sent.ackEliciting, now);
  }
}
