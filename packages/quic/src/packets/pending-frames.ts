import type { ConnectionParts } from '../connection/parts.ts';
import { levelOf } from './crypto-streams.ts';
import { DeliveryFlag, type FrameLog } from '../recovery/delivery.ts';
import { Space } from '../wire/packet-header.ts';
import { FrameType } from '../wire/frame-types.ts';
import {
  newConnectionIdSize,
  newTokenSize,
  numberSize,
  writeAck,
  writeHandshakeDone,
  writeNewConnectionId,
  writeNewToken,
  writeNumber,
  writePing,
  writeTwoNumbers,
} from '../wire/frame-writers.ts';

/** The ack_delay_exponent that this side uses: the default, which is not announced. */
const ACK_DELAY_EXPONENT = 3;

const NO_TOKEN = new Uint8Array(0);

/** The frames that are due in each packet number space, in the order in which they are written. */
export class PendingFrames {
  readonly #parts: ConnectionParts;
  readonly #handshakeDone = new DeliveryFlag();
  readonly #newToken = new DeliveryFlag();
  #token: Uint8Array = NO_TOKEN;
  /** Whether an ack-eliciting frame has to be sent: PING if there is no other. */
  #isPingDue = false;
  /** Whether the frames written last are ack-eliciting. */
  isAckEliciting = false;
  /** Whether DATAGRAM frames are written before STREAM frames; alternates, so that neither starves the other. */
  #areDatagramsFirst = true;

  constructor(parts: ConnectionParts) {
    this.#parts = parts;
  }

  requestHandshakeDone(): void {
    this.#handshakeDone.request();
  }

  requestNewToken(token: Uint8Array): void {
    this.#token = token;
    this.#newToken.request();
  }

  requestPing(): void {
    this.#isPingDue = true;
  }

  /** Whether there are frames other than ACK for packets of a space. */
  isDue(space: Space): boolean {
    const { crypto } = this.#parts;
    if (space !== Space.APPLICATION) return crypto[levelOf(space)].sending.hasPending;
    if (!this.#parts.lifecycle.isEstablished) return false;
    return (
      this.#parts.streams.hasFrames ||
      this.#parts.datagrams.hasFrames ||
      this.#isPingDue ||
      this.#handshakeDone.isDue ||
      this.#newToken.isDue ||
      this.#parts.localIds.due !== undefined ||
      this.#parts.peerIds.retirementDue !== undefined ||
      crypto.application.sending.hasPending
    );
  }

  /** Whether DATAGRAM frames are due, but no stream data that would fill larger UDP datagrams. */
  get areAllDatagrams(): boolean {
    return (
      this.#parts.lifecycle.isConfirmed &&
      this.#parts.datagrams.hasFrames &&
      !this.#parts.streams.hasFrames
    );
  }

  /**
   * Writes frames between `at` and `limit`.
   *
   * @param mayElicit whether frames other than ACK may be written.
   * @param isProbe whether there has to be an ack-eliciting frame.
   * @returns the offset after them.
   */
  write(
    space: Space,
    out: Uint8Array,
    at: number,
    limit: number,
    mayElicit: boolean,
    isProbe: boolean,
    now: number,
  ): number {
    const { loss } = this.#parts;
    const log = loss.frames(space);
    this.isAckEliciting = false;
    const start = this.#writeAck(space, out, at, limit, log, now);
    let next = start;
    if (mayElicit) {
      next =
        space === Space.APPLICATION
          ? this.#writeApplication(out, next, limit, log)
          : this.#writeCrypto(space, out, next, limit, log);
    }
    const wantsPing =
      isProbe ||
      (mayElicit && this.#isPingDue) ||
      (start > at && loss.control.hasRoom && loss.wantsPing(space));
    if (next === start && wantsPing && next < limit) next = writePing(out, next);
    if (next > start) {
      this.isAckEliciting = true;
      if (space === Space.APPLICATION) this.#isPingDue = false;
    }
    return next;
  }

  #writeAck(
    space: Space,
    out: Uint8Array,
    at: number,
    limit: number,
    log: FrameLog,
    now: number,
  ): number {
    const schedule = this.#parts.acks[space];
    if (schedule === undefined || !schedule.isPending) return at;
    const delay = schedule.delayField(ACK_DELAY_EXPONENT, now);
    const next = writeAck(out, at, limit, schedule.ranges, delay, schedule.ecn);
    if (next > at) {
      schedule.onAckSent(log);
    }
    return next;
  }

  #writeCrypto(space: Space, out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    const { sending } = this.#parts.crypto[levelOf(space)];
    let next = at;
    while (!log.isPacketFull) {
      const range = sending.next(limit - next, log);
      if (range === undefined) break;
      const { offset, bytes, at: from, size } = range;
      next = writeTwoNumbers(out, next, FrameType.CRYPTO, offset, size);
      out.set(bytes.subarray(from, from + size), next);
      next += size;
    }
    return next;
  }

  #writeApplication(out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    const { datagrams, streams } = this.#parts;
    let next = this.#writeConnection(out, at, limit, log);
    if (this.#parts.crypto.application.sending.hasPending) {
      next = this.#writeCrypto(Space.APPLICATION, out, next, limit, log);
    }
    if (!datagrams.hasFrames) return streams.writeFrames(out, next, limit, log);
    this.#areDatagramsFirst = !this.#areDatagramsFirst;
    if (this.#areDatagramsFirst) {
      next = datagrams.writeFrames(out, next, limit);
      return streams.writeFrames(out, next, limit, log);
    }
    next = streams.writeFrames(out, next, limit, log);
    return datagrams.writeFrames(out, next, limit);
  }

  /** Writes HANDSHAKE_DONE, NEW_TOKEN, NEW_CONNECTION_ID and RETIRE_CONNECTION_ID. */
  #writeConnection(out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    const { localIds, peerIds } = this.#parts;
    let next = at;
    if (this.#handshakeDone.isDue && next < limit) {
      next = writeHandshakeDone(out, next);
      this.#handshakeDone.onSent(log);
    }
    if (this.#newToken.isDue && next + newTokenSize(this.#token.length) <= limit) {
      next = writeNewToken(out, next, this.#token);
      this.#newToken.onSent(log);
    }
    for (;;) {
      const issued = localIds.due;
      if (issued === undefined || log.isPacketFull) break;
      const { sequence, id, resetToken } = issued;
      if (next + newConnectionIdSize(sequence, 0, id.length) > limit) break;
      next = writeNewConnectionId(out, next, sequence, 0, id, resetToken);
      log.add(localIds, sequence);
      localIds.onSent(sequence);
    }
    for (;;) {
      const sequence = peerIds.retirementDue;
      if (sequence === undefined || log.isPacketFull) break;
      if (next + numberSize(sequence) > limit) break;
      next = writeNumber(out, next, FrameType.RETIRE_CONNECTION_ID, sequence);
      log.add(peerIds, sequence);
      peerIds.onRetirementSent(sequence);
    }
    return next;
  }
}
