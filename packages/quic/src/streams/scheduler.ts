import type { SendCredit } from './flow-control.ts';
import { Fifo } from '@weir/base/collections';
import { STREAM_TURN } from '../limits.ts';
import type { Stream } from './stream.ts';
import type { FrameLog } from '../recovery/delivery.ts';

/**
 * Decides which stream writes next. Only streams with data to send are queued, so idle ones cost nothing. Control
 * frames go first, then lost data, because receivers wait for it; then new data.
 *
 * Streams with new data take turns of `STREAM_TURN`. A stream that was idle has its first turn before the others, so
 * that a request does not wait for bulk transfers. After that it stays in their queue, even with nothing to send, so
 * that it cannot go first again before they have had a turn (the rule of FQ-CoDel for new flows, RFC 8290 §4.2).
 *
 * A queue may hold streams that have nothing to send any more; they are removed when their turn comes.
 */
export class Scheduler {
  readonly #control = new Fifo<Stream>();
  readonly #repair = new Fifo<Stream>();
  readonly #newlyActive = new Fifo<Stream>();
  readonly #fresh = new Fifo<Stream>();
  readonly #credit: SendCredit;
  readonly #onDrained: (stream: Stream) => void;
  /** The last stream whose turn ended at its own flow control limit. */
  #limited: Stream | undefined;

  /**
   * @param credit the peer's limit for all streams.
   * @param onDrained called for a stream whose writer may write again.
   */
  constructor(credit: SendCredit, onDrained: (stream: Stream) => void) {
    this.#credit = credit;
    this.#onDrained = onDrained;
  }

  /** Adds a stream to the queues for which it has something to send. */
  update(stream: Stream): void {
    if (!stream.isInControl && stream.hasControl) {
      stream.isInControl = true;
      this.#control.push(stream);
    }
    const { send } = stream;
    if (!send) return;
    if (!stream.isInRepair && send.hasRepair) {
      stream.isInRepair = true;
      this.#repair.push(stream);
    }
    if (!stream.isInFresh && send.hasFresh) {
      stream.isInFresh = true;
      this.#newlyActive.push(stream);
    }
  }

  get hasControl(): boolean {
    return this.#nextControl() !== undefined;
  }

  /** Whether there is data to send: lost, or new and within the limits. */
  get hasData(): boolean {
    if (this.#nextRepair() !== undefined) return true;
    return this.#credit.available > 0 && this.#nextFresh() !== undefined;
  }

  /** Whether new data waits for the connection's limit. */
  get isBlocked(): boolean {
    return this.#credit.available === 0 && this.#nextFresh() !== undefined;
  }

  /** Whether new data waits for a limit of the peer: the connection's, or that of the last limited stream. */
  get isFlowLimited(): boolean {
    if (this.#limited?.send?.isBlocked !== true) this.#limited = undefined;
    return this.#limited !== undefined || this.isBlocked;
  }

  /** Writes control frames of streams. Returns the offset after them. */
  writeControl(out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    let next = at;
    for (;;) {
      const stream = this.#nextControl();
      if (!stream || log.isPacketFull) return next;
      next = stream.writeControl(out, next, limit, log);
      if (stream.hasControl) return next; // no room for the rest
    }
  }

  /** Writes STREAM frames. Returns the offset after them. */
  writeData(out: Uint8Array, at: number, limit: number, log: FrameLog): number {
    let next = at;
    for (let stream = this.#nextRepair(); stream; stream = this.#nextRepair()) {
      if (log.isPacketFull) return next;
      const after = stream.send?.writeRepair(out, next, limit, log) ?? next;
      if (after === next) return next;
      next = after;
    }
    for (let stream = this.#nextFresh(); stream; stream = this.#nextFresh()) {
      if (log.isPacketFull || this.#credit.available === 0) return next;
      const { send } = stream;
      if (!send) return next;
      const after = send.writeFresh(out, next, limit, this.#credit.available, log);
      if (after === next) return next;
      next = after;
      this.#credit.use(send.written);
      stream.turnSent += send.written;
      if (stream.turnSent >= STREAM_TURN || !send.hasFresh) this.#endTurn(stream);
      if (send.isBlocked) this.#limited = stream;
      this.update(stream);
      if (send.takeWritable()) this.#onDrained(stream);
    }
    return next;
  }

  #nextControl(): Stream | undefined {
    let stream = this.#control.peek();
    while (stream && !stream.hasControl) {
      this.#control.shift();
      stream.isInControl = false;
      stream = this.#control.peek();
    }
    return stream;
  }

  #nextRepair(): Stream | undefined {
    let stream = this.#repair.peek();
    while (stream && !stream.send?.hasRepair) {
      this.#repair.shift();
      stream.isInRepair = false;
      stream = this.#repair.peek();
    }
    return stream;
  }

  #nextFresh(): Stream | undefined {
    // Streams that have drained or were reset before their first turn are skipped.
    for (let stream = this.#newlyActive.peek(); stream; stream = this.#newlyActive.peek()) {
      if (stream.send?.hasFresh) return stream;
      this.#newlyActive.shift();
      stream.isInFresh = false;
    }
    let stream = this.#fresh.peek();
    while (stream && !stream.send?.hasFresh) {
      this.#fresh.shift();
      stream.isInFresh = false;
      stream.turnSent = 0;
      stream = this.#fresh.peek();
    }
    return stream;
  }

  /** Moves the stream at the head of either queue to the end of the queue of turns. */
  #endTurn(stream: Stream): void {
    if (this.#newlyActive.peek() === stream) this.#newlyActive.shift();
    else this.#fresh.shift();
    stream.turnSent = 0;
    this.#fresh.push(stream);
  }
}
