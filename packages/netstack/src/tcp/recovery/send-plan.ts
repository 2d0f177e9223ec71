import { MAX_SEGMENTS, MAX_OUTSTANDING_SEGMENTS } from '../../limits.ts';
import { initialWindow, type SendControl } from '@weir/congestion';
import type { Outstanding } from './outstanding.ts';
import type { RetransmissionTimer } from './retransmission-timer.ts';

/**
 * Duplicate acknowledgements in a row from a peer without SACK: each stands for one segment that has left the network,
 * but not for a particular one (RFC 5681 §3.2).
 */
export class DuplicateAcks {
  count = 0;

  clear(): void {
    this.count = 0;
  }

  /** Counts a duplicate acknowledgement, with data outstanding. */
  onDuplicate(): void {
    this.count = Math.min(this.count + 1, MAX_SEGMENTS);
  }

  /**
   * Handles a partial acknowledgement (RFC 6582 §3.2), which covers the retransmitted segment and further ones, which
   * duplicates have already counted.
   */
  onPartialAck(bytes: number, mss: number): void {
    const counted = Math.max(0, Math.ceil(bytes / mss) - 1);
    this.count = Math.max(0, this.count - counted);
  }
}

/** Minimum share of cwnd (1/4) that must be open before a large segment is sent. */
const DEFERRED_SHARE = 4;

/** The next segment to be sent; filled by `SendPlan.next` and reused. */
export interface PlannedSegment {
  start: number;
  /** The end (excluded); one more than the end of the data if the segment carries the FIN. */
  end: number;
  isRetransmission: boolean;
}

/**
 * - `open`: no loss is being recovered.
 * - `recovery`: losses were reported to congestion control. Ends when everything that had been sent by then
 *   is acknowledged.
 * - `timeout`: only the first segment is retransmitted, until an acknowledgement shows whether the timeout was
 *   spurious (RFC 3522, RFC 5682). Congestion control is notified afterwards.
 * - `go-back`: the timeout was not spurious. Everything that was in flight is retransmitted, in slow start.
 */
export type RecoveryPhase = 'open' | 'recovery' | 'timeout' | 'go-back';

/** A segment that is sent without regard to cwnd: the first unacknowledged one, or the tail loss probe. */
type ProbeKind = 'none' | 'first' | 'tail';

/**
 * Chooses the next segment of a connection: a probe, then lost data, then new data. New and lost data
 * obey the congestion window, the peer's window and, if the connection is paced, the pacer.
 */
export class SendPlan {
  readonly planned: PlannedSegment = { start: 0, end: 0, isRetransmission: false };
  /** The probe to be sent before anything else. */
  probe: ProbeKind = 'none';
  /** Whether a segment is sent although cwnd is full: the first retransmission of a recovery (RFC 6675 §5). */
  isForced = false;
  readonly #control: SendControl;
  readonly #outstanding: Outstanding;
  readonly #duplicates: DuplicateAcks;
  readonly #timer: RetransmissionTimer;
  readonly #isPaced: boolean;
  #mss: number;
  /** The probe in `planned`. */
  plannedProbe: ProbeKind = 'none';
  /** Whether only the peer's window blocks data, with nothing in flight. */
  isWindowBlocked = false;
  /** MAX.SND.WND. */
  #maxSndWnd = 0;
  #lastSentAt = -Infinity;
  /** The restart window after an idle time (RFC 5681 §4.1); Infinity while cwnd applies. */
  #restartWindow = Infinity;
  /** Time at which the pacer permits more; `Infinity` if it defers nothing. */
  paceAt = Infinity;

  constructor(
    control: SendControl,
    outstanding: Outstanding,
    duplicates: DuplicateAcks,
    timer: RetransmissionTimer,
    mss: number,
    isPaced: boolean,
  ) {
    this.#control = control;
    this.#outstanding = outstanding;
    this.#duplicates = duplicates;
    this.#timer = timer;
    this.#mss = mss;
    this.#isPaced = isPaced;
  }

  setMss(mss: number): void {
    this.#mss = mss;
  }

  /**
   * Writes the next segment into `planned`; returns false if nothing may be sent.
   * @param available the end of the queued data, FIN included.
   * @param edge the right edge of the peer's window: SND.UNA + SND.WND.
   * @param largest payload bytes of a segment: at least the MSS, more with segmentation offload.
   */
  next(
    now: number,
    available: number,
    edge: number,
    largest: number,
    phase: RecoveryPhase,
  ): boolean {
    const { sndUna, sndNxt, lost } = this.#outstanding;
    this.#maxSndWnd = Math.max(this.#maxSndWnd, edge - sndUna);
    this.isWindowBlocked = false;
    this.paceAt = Infinity;
    this.plannedProbe = this.probe;
    if (this.probe !== 'none') {
      if (sndUna < sndNxt) return this.#planProbe(available, edge);
      this.plannedProbe = this.probe = 'none';
    }
    if (phase === 'timeout') return false;
    this.#restartAfterIdle(now, available);
    const room = this.#room(now);
    if (lost.size > 0) return this.#planLost(now, room, edge, largest);
    return this.#planFresh(now, room, available, edge, largest, phase === 'open');
  }

  /** Called when the planned segment was sent. */
  onSent(now: number): void {
    if (this.plannedProbe === 'none' && this.planned.isRetransmission) this.isForced = false;
    this.plannedProbe = this.probe = 'none';
    this.#lastSentAt = now;
  }

  /** Called when the deadline of the pacer has passed. */
  onTimeout(now: number): void {
    if (now >= this.paceAt) this.paceAt = Infinity;
  }

  /**
   * Called for an acknowledgement.
   * @param bytes bytes that it has removed from flight: the restart window grows by them.
   */
  onAcked(bytes: number): void {
    if (this.#restartWindow === Infinity) return;
    this.#restartWindow += Math.max(0, bytes);
    if (this.#restartWindow >= this.#control.controller.window) this.#restartWindow = Infinity;
  }

  #planProbe(available: number, edge: number): boolean {
    const { sndUna, sndNxt, segments } = this.#outstanding;
    const { planned } = this;
    if (this.probe === 'tail' && Math.min(available, edge) > sndNxt) {
      planned.start = sndNxt;
      planned.end = Math.min(available, edge, sndNxt + this.#mss);
      planned.isRetransmission = false;
      return true;
    }
    const slot = segments.at(this.probe === 'tail' ? segments.count - 1 : 0);
    const start = segments.start(slot);
    const end = segments.end(slot);
    planned.isRetransmission = true;
    if (this.probe === 'first') {
      planned.start = sndUna;
      planned.end = Math.min(end, sndUna + this.#mss);
      return true;
    }
    // The last packet of a large segment.
    planned.start = start + Math.floor((end - start - 1) / this.#mss) * this.#mss;
    planned.end = end;
    return true;
  }

  #planLost(now: number, room: number, edge: number, largest: number): boolean {
    const { lost } = this.#outstanding;
    const start = lost.start(0);
    if (start >= edge) {
      this.isWindowBlocked = this.#control.inFlight === 0;
      return false;
    }
    if (room <= 0 && !this.isForced) return this.#pause(now);
    const size = Math.min(Math.max(room, this.#mss), Math.max(largest, this.#mss));
    const { planned } = this;
    planned.start = start;
    planned.end = this.#outstanding.resentEnd(start, lost.end(0), size);
    planned.isRetransmission = true;
    return true;
  }

  #planFresh(
    now: number,
    room: number,
    available: number,
    edge: number,
    largest: number,
    isOpen: boolean,
  ): boolean {
    const { sndUna, sndNxt, segments, scoreboard } = this.#outstanding;
    const mss = this.#mss;
    const limit = Math.min(edge, sndUna + mss * MAX_OUTSTANDING_SEGMENTS);
    const wanted = Math.min(available, limit) - sndNxt;
    if (wanted <= 0 || segments.count >= MAX_SEGMENTS) {
      this.isWindowBlocked = available > sndNxt && edge <= sndNxt && this.#control.inFlight === 0;
      this.#control.onAppLimited();
      return false;
    }
    if (room <= 0) return this.#pause(now);
    let size = Math.min(wanted, room, largest);
    if (size > mss) size -= sndNxt + size === available ? 0 : size % mss;
    const isLast = sndNxt + size === available;
    if (!isLast && size < mss && this.#control.inFlight > 0 && size * 2 < this.#maxSndWnd) {
      // The sender's silly window syndrome avoidance (RFC 9293 §3.8.6.2.1).
      this.#control.onAppLimited();
      return false;
    }
    // With offload, wait until several small openings of cwnd make one large segment.
    const isDeferred =
      largest > mss &&
      isOpen &&
      // Limited transmit (RFC 3042): the ACK of a segment sent now distinguishes loss from reordering.
      this.#duplicates.count === 0 &&
      scoreboard.ranges === 0 &&
      size < Math.min(wanted, largest) &&
      size * DEFERRED_SHARE < this.#control.controller.window &&
      this.#control.inFlight > mss;
    if (isDeferred) return false;
    const { planned } = this;
    planned.start = sndNxt;
    planned.end = sndNxt + size;
    planned.isRetransmission = false;
    return true;
  }

  /** Ends the turn: nothing is sent until an acknowledgement arrives or the pacer permits it. */
  #pause(now: number): false {
    if (!this.#isPaced || this.#duplicates.count > 0) return false;
    const at = this.#control.nextSendTime(now);
    if (at > now) this.paceAt = at;
    return false;
  }

  /** Returns the number of bytes that congestion control permits now: at least a full segment, or 0. */
  #room(now: number): number {
    const control = this.#control;
    const mss = this.#mss;
    const duplicates = this.#duplicates.count;
    // Duplicates count as delivered: limited transmit, and RFC 5681 §3.2 step 4.
    const inFlight = Math.max(0, control.inFlight - duplicates * mss);
    if (inFlight + mss > this.#restartWindow) return 0;
    const least = this.#restartWindow - inFlight;
    if (duplicates === 0 && this.#isPaced) return Math.min(control.allowance(now), least);
    const room = control.controller.window - inFlight;
    return room < mss ? 0 : Math.min(room, least);
  }

  /** Reduces the window after an idle time longer than the RTO: cwnd no longer describes the path (RFC 5681 §4.1). */
  #restartAfterIdle(now: number, available: number): void {
    const { sndUna, sndNxt } = this.#outstanding;
    if (sndUna < sndNxt || available <= sndNxt) return;
    if (now - this.#lastSentAt <= this.#timer.interval(this.#control.rtt)) return;
    const window = initialWindow(this.#mss);
    if (this.#lastSentAt > -Infinity && window < this.#control.controller.window) {
      this.#restartWindow = window;
    }
  }
}
