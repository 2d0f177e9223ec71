import { initialWindow } from '../../../congestion/controller.ts';
import type { SendControl } from '../../../congestion/send-control.ts';
import type { Trace } from '../../trace.ts';
import { Outstanding } from './outstanding.ts';
import type { Acknowledgement, LossRecovery, PlannedSegment } from './recovery-contract.ts';
import { DUPLICATE_THRESHOLD, MAX_OUTSTANDING_SEGMENTS, MAX_SEGMENTS } from './recovery-limits.ts';
import { RetransmissionTimer } from './retransmission-timer.ts';
import { probeWait, TailLossProbe } from './tail-loss-probe.ts';
import { TimeoutJudgement } from './timeout-judgement.ts';

/**
 * - `open`: nothing is lost.
 * - `recovery`: losses were reported to congestion control; until what was sent by then is acknowledged.
 * - `timeout`: the first segment was sent again, and nothing else is, until an acknowledgement shows
 *   whether the timeout was spurious (RFC 3522, RFC 5682). Congestion control hears of it only then.
 * - `go-back`: it was not. Everything that was in flight is sent again, in slow start.
 */
type Phase = 'open' | 'recovery' | 'timeout' | 'go-back';

/** What is sent whatever the windows say. */
type Probe = 'none' | 'first' | 'tail';

type Deadline = 'none' | 'reordering' | 'probe' | 'retransmission';

/** A window opens for the cwnd's share below which a large segment waits for more of it. */
const DEFERRED_SHARE = 4;

/**
 * Loss recovery of one connection: what may be sent now, and what an acknowledgement means. RACK-TLP
 * (RFC 8985) with peers that send SACK, NewReno (RFC 6582) with others, on `SendControl`.
 */
export class Recovery implements LossRecovery {
  readonly #control: SendControl;
  readonly #isPaced: boolean;
  readonly #trace: Trace | undefined;
  readonly #outstanding: Outstanding;
  readonly #timer = new RetransmissionTimer();
  readonly #tail = new TailLossProbe();
  readonly #judgement = new TimeoutJudgement();
  readonly #planned: PlannedSegment = { start: 0, end: 0, isRetransmission: false };
  #mss: number;
  #sack = false;
  #phase: Phase = 'open';
  /** Until this is acknowledged the phase lasts. */
  #point = -1;
  #probe: Probe = 'none';
  #plannedProbe: Probe = 'none';
  /** The first retransmission of a recovery leaves although the window is full (RFC 6675 §5). */
  #isForced = false;
  #isWindowBlocked = false;
  #largestWindow = 0;
  /** Duplicate acknowledgements in a row, without SACK. */
  #duplicates = 0;
  #lastSentAt = -Infinity;
  /** When something was last sent or acknowledged. */
  #activeAt = 0;
  /** A window below that of congestion control, after a pause. */
  #restartWindow = Infinity;
  /** When the pacer permits what `plan` held back. */
  #paceAt = Infinity;
  #timeout = Infinity;
  #deadline: Deadline = 'none';

  /** @param isPaced whether segments are spread over the round trip, which a local path does not need. */
  constructor(control: SendControl, mss: number, isPaced: boolean, trace?: Trace) {
    this.#control = control;
    this.#mss = mss;
    this.#isPaced = isPaced;
    this.#trace = trace;
    this.#outstanding = new Outstanding(control, mss, trace);
  }

  get acknowledged(): number {
    return this.#outstanding.acknowledged;
  }

  get sent(): number {
    return this.#outstanding.sent;
  }

  get timeouts(): number {
    return this.#timer.count;
  }

  get timeout(): number {
    return Math.min(this.#timeout, this.#paceAt);
  }

  get isWindowBlocked(): boolean {
    return this.#isWindowBlocked;
  }

  get planned(): Readonly<PlannedSegment> {
    return this.#planned;
  }

  /** Segments that are remembered, for checks of their bound. */
  get segments(): number {
    return this.#outstanding.segments.count;
  }

  start(sack: boolean, mss: number): void {
    this.#sack = sack;
    this.#mss = mss;
    this.#outstanding.setMss(mss);
    this.#control.onMtu(mss);
  }

  onHandshake(roundTrip: number | undefined, now: number): void {
    if (roundTrip === undefined) {
      this.#timer.onLostSyn();
      return;
    }
    this.#control.beginAck(now);
    this.#control.onRtt(roundTrip, 0);
    this.#control.finishAck();
  }

  setMss(mss: number, now: number): void {
    const isSmaller = mss < this.#mss;
    this.#mss = mss;
    this.#outstanding.setMss(mss);
    this.#control.onMtu(mss);
    if (isSmaller) this.#outstanding.resize(mss);
    this.#arm(now);
  }

  plan(now: number, available: number, edge: number, largest: number): boolean {
    const { acknowledged, sent, lost } = this.#outstanding;
    this.#largestWindow = Math.max(this.#largestWindow, edge - acknowledged);
    this.#isWindowBlocked = false;
    this.#paceAt = Infinity;
    this.#plannedProbe = this.#probe;
    if (this.#probe !== 'none') {
      if (acknowledged < sent) return this.#planProbe(available, edge);
      this.#plannedProbe = this.#probe = 'none';
    }
    if (this.#phase === 'timeout') return false;
    this.#restartAfterPause(now, available);
    const room = this.#room(now);
    if (lost.size > 0) return this.#planLost(now, room, edge, largest);
    return this.#planFresh(now, room, available, edge, largest);
  }

  onSent(now: number): void {
    const outstanding = this.#outstanding;
    const { start, end, isRetransmission } = this.#planned;
    const isFirst = start === outstanding.acknowledged;
    if (isRetransmission) outstanding.onResent(start, end, now);
    else outstanding.onSent(end, now);
    if (isFirst) this.#timer.restart(now);
    switch (this.#plannedProbe) {
      case 'tail':
        this.#tail.onSent(end, isRetransmission, now);
        this.#timer.restart(now);
        break;
      case 'first':
        this.#judgement.onRepeated(now);
        break;
      case 'none':
        if (isRetransmission) this.#isForced = false;
        break;
      default:
        this.#plannedProbe satisfies never;
    }
    this.#plannedProbe = this.#probe = 'none';
    this.#lastSentAt = now;
    this.#activeAt = now;
    this.#arm(now);
  }

  onAck(ack: Acknowledgement, now: number): boolean {
    const outstanding = this.#outstanding;
    const control = this.#control;
    if (!(ack.offset <= outstanding.sent)) return false;
    if (ack.offset < outstanding.acknowledged) return true;
    const newly = ack.offset - outstanding.acknowledged;
    const advances = newly > 0;
    const inFlight = control.inFlight;
    control.beginAck(now);
    outstanding.beginAck(ack.offset, ack.echo, now);
    if (advances) outstanding.acknowledge(ack.offset);
    if (this.#sack) outstanding.scoreboard.take(ack, outstanding.sent, outstanding);
    const roundTrip = outstanding.roundTrip();
    if (roundTrip >= 0) control.onRtt(roundTrip, 0);
    if (advances) this.#timer.onAnswer(now);
    if (!this.#sack) this.#countDuplicates(ack, newly);
    else this.#takeDuplicates(now);
    if (this.#tail.isOutstanding) this.#judgeProbe(ack, advances, now);
    if (this.#phase === 'timeout') this.#judgeTimeout(ack, advances, now);
    if (this.#phase !== 'timeout') this.#detectLost(advances, now);
    control.finishAck();
    if (this.#restartWindow < Infinity) {
      this.#restartWindow += Math.max(0, inFlight - control.inFlight);
      if (this.#restartWindow >= control.controller.window) this.#restartWindow = Infinity;
    }
    this.#activeAt = now;
    this.#arm(now);
    return true;
  }

  onTimeout(now: number): void {
    if (now >= this.#paceAt) this.#paceAt = Infinity;
    if (now < this.#timeout) return;
    switch (this.#deadline) {
      case 'none':
        break;
      case 'reordering':
        this.#detectLost(false, now);
        break;
      case 'probe':
        this.#probe = 'tail';
        if (this.#trace !== undefined) this.#trace({ kind: 'tail-loss-probe' }, now);
        break;
      case 'retransmission':
        this.#onRetransmissionTimeout(now);
        break;
      default:
        this.#deadline satisfies never;
    }
    this.#arm(now);
  }

  onPathRestored(now: number): void {
    if (this.#phase !== 'timeout') return;
    this.#timer.onAnswer(now);
    this.#probe = 'first';
    this.#arm(now);
  }

  #planProbe(available: number, edge: number): boolean {
    const { acknowledged, sent, segments } = this.#outstanding;
    const planned = this.#planned;
    if (this.#probe === 'tail' && Math.min(available, edge) > sent) {
      planned.start = sent;
      planned.end = Math.min(available, edge, sent + this.#mss);
      planned.isRetransmission = false;
      return true;
    }
    const slot = segments.at(this.#probe === 'tail' ? segments.count - 1 : 0);
    const start = segments.start(slot);
    const end = segments.end(slot);
    planned.isRetransmission = true;
    if (this.#probe === 'first') {
      planned.start = acknowledged;
      planned.end = Math.min(end, acknowledged + this.#mss);
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
      this.#isWindowBlocked = this.#control.inFlight === 0;
      return false;
    }
    if (room <= 0 && !this.#isForced) return this.#pause(now);
    const size = Math.min(Math.max(room, this.#mss), Math.max(largest, this.#mss));
    const planned = this.#planned;
    planned.start = start;
    planned.end = this.#outstanding.resentEnd(start, lost.end(0), size);
    planned.isRetransmission = true;
    return true;
  }

  #planFresh(now: number, room: number, available: number, edge: number, largest: number): boolean {
    const { acknowledged, sent, segments } = this.#outstanding;
    const mss = this.#mss;
    const limit = Math.min(edge, acknowledged + mss * MAX_OUTSTANDING_SEGMENTS);
    const wanted = Math.min(available, limit) - sent;
    if (wanted <= 0 || segments.count >= MAX_SEGMENTS) {
      this.#isWindowBlocked = available > sent && edge <= sent && this.#control.inFlight === 0;
      this.#control.onAppLimited();
      return false;
    }
    if (room <= 0) return this.#pause(now);
    let size = Math.min(wanted, room, largest);
    if (size > mss) size -= sent + size === available ? 0 : size % mss;
    const isLast = sent + size === available;
    if (!isLast && size < mss && this.#control.inFlight > 0 && size * 2 < this.#largestWindow) {
      // Sender's silly window avoidance (RFC 9293 §3.8.6.2.1).
      this.#control.onAppLimited();
      return false;
    }
    // With offload, many small openings of the window make one large segment.
    const { scoreboard } = this.#outstanding;
    const isDeferred =
      largest > mss &&
      this.#phase === 'open' &&
      // Limited transmit (RFC 3042): what leaves now tells a loss from reordering.
      this.#duplicates === 0 &&
      scoreboard.ranges === 0 &&
      size < Math.min(wanted, largest) &&
      size * DEFERRED_SHARE < this.#control.controller.window &&
      this.#control.inFlight > mss;
    if (isDeferred) return false;
    const planned = this.#planned;
    planned.start = sent;
    planned.end = sent + size;
    planned.isRetransmission = false;
    return true;
  }

  /** Nothing leaves now: until an acknowledgement, or until the pacer permits it. */
  #pause(now: number): false {
    if (!this.#isPaced || this.#duplicates > 0) return false;
    const at = this.#control.nextSendTime(now);
    if (at > now) this.#paceAt = at;
    return false;
  }

  /** Bytes that congestion control lets leave now: at least a full segment, or 0. */
  #room(now: number): number {
    const control = this.#control;
    const mss = this.#mss;
    // What has left the network unreported, without SACK: limited transmit and RFC 5681 §3.2 step 4.
    const inFlight = Math.max(0, control.inFlight - this.#duplicates * mss);
    if (inFlight + mss > this.#restartWindow) return 0;
    const least = this.#restartWindow - inFlight;
    if (this.#duplicates === 0 && this.#isPaced) return Math.min(control.allowance(now), least);
    const room = control.controller.window - inFlight;
    return room < mss ? 0 : Math.min(room, least);
  }

  /** After a pause the window says little about the path (RFC 5681 §4.1). */
  #restartAfterPause(now: number, available: number): void {
    const { acknowledged, sent } = this.#outstanding;
    if (acknowledged < sent || available <= sent) return;
    const control = this.#control;
    if (now - this.#lastSentAt <= this.#timer.interval(control.rtt)) return;
    const window = initialWindow(this.#mss);
    if (this.#lastSentAt > -Infinity && window < control.controller.window) {
      this.#restartWindow = window;
    }
  }

  /** Without SACK: segments that have left the network, though not which ones. */
  #countDuplicates(ack: Acknowledgement, newly: number): void {
    const { acknowledged, sent } = this.#outstanding;
    if (newly > 0) {
      // A partial acknowledgement is of the repeated segment and of some that duplicates stood for.
      const reported = Math.max(0, Math.ceil(newly / this.#mss) - 1);
      const isPartial = this.#phase === 'recovery' && acknowledged < this.#point;
      this.#duplicates = isPartial ? Math.max(0, this.#duplicates - reported) : 0;
    } else if (ack.isDuplicate && sent > acknowledged) {
      this.#duplicates = Math.min(this.#duplicates + 1, MAX_SEGMENTS);
    }
  }

  /** What arrived twice, by SACK (RFC 2883). */
  #takeDuplicates(now: number): void {
    const outstanding = this.#outstanding;
    const { scoreboard, episode } = outstanding;
    if (!scoreboard.hasDuplicate || this.#tail.isOutstanding) return;
    const bytes = scoreboard.duplicateEnd - scoreboard.duplicateStart;
    if (!episode.onDuplicate(bytes, this.#control, now)) return;
    outstanding.rack.onSpurious(outstanding.acknowledged, outstanding.sent);
  }

  #judgeProbe(ack: Acknowledgement, advances: boolean, now: number): void {
    const { scoreboard } = this.#outstanding;
    const duplicateEnd = scoreboard.hasDuplicate ? scoreboard.duplicateEnd : 0;
    if (this.#tail.onAck(ack.offset, duplicateEnd, advances ? ack.echo : -1)) {
      this.#control.onCongestionExperienced(now, this.#tail.sentAt);
    }
  }

  #detectLost(advances: boolean, now: number): void {
    const outstanding = this.#outstanding;
    const { acknowledged, sent, lost } = outstanding;
    if (this.#phase !== 'open' && acknowledged >= this.#point) {
      this.#phase = 'open';
      outstanding.rack.onRecovered();
    }
    const isOpen = this.#phase === 'open';
    if (this.#sack) outstanding.detectLost(!isOpen, now);
    else if (this.#isFirstLost(advances)) {
      outstanding.loseFirst(now);
      this.#isForced = true;
    }
    if (!isOpen || lost.size === 0) return;
    this.#phase = 'recovery';
    this.#point = sent;
    this.#isForced = true;
    this.#tail.cancel();
  }

  /** Without SACK: three duplicate acknowledgements, or a partial one in a recovery (RFC 6582 §3.2). */
  #isFirstLost(advances: boolean): boolean {
    if (this.#phase === 'recovery') return advances;
    if (this.#phase !== 'open') return false;
    // Duplicates of what was sent again would begin another recovery.
    const isNew = this.#outstanding.acknowledged > this.#point;
    return isNew && this.#duplicates >= DUPLICATE_THRESHOLD;
  }

  #onRetransmissionTimeout(now: number): void {
    const outstanding = this.#outstanding;
    if (this.#probe === 'first') {
      // The last one has not left yet: the output is full, and the peer was not asked.
      this.#timer.restart(now);
      return;
    }
    if (outstanding.isReneged) outstanding.forgetSacked();
    if (this.#phase !== 'timeout') {
      this.#phase = 'timeout';
      this.#point = outstanding.sent;
      this.#judgement.begin(outstanding, this.#sack);
    }
    this.#timer.onTimeout(now);
    if (this.#trace !== undefined) {
      this.#trace({ kind: 'retransmission-timeout', count: this.#timer.count }, now);
    }
    this.#tail.cancel();
    this.#duplicates = 0;
    this.#probe = 'first';
  }

  /** Whether the timeout was spurious: the peer had received what was taken for lost. */
  #judgeTimeout(ack: Acknowledgement, advances: boolean, now: number): void {
    const outstanding = this.#outstanding;
    const isSpurious = this.#judgement.isSpurious(outstanding, advances, ack.echo);
    if (!isSpurious && !advances) return;
    this.#probe = 'none';
    this.#phase = 'open';
    this.#duplicates = 0;
    if (isSpurious) {
      if (this.#trace !== undefined) this.#trace({ kind: 'spurious', what: 'timeout' }, now);
      return;
    }
    const control = this.#control;
    control.onCongestionExperienced(now, this.#judgement.sentAt);
    outstanding.loseAll(now);
    control.onPersistentCongestion(now);
    if (outstanding.acknowledged < this.#point) this.#phase = 'go-back';
  }

  /** Sets `timeout`. */
  #arm(now: number): void {
    const { acknowledged, sent, lossTime, scoreboard, lost } = this.#outstanding;
    this.#timeout = Infinity;
    this.#deadline = 'none';
    if (acknowledged === sent) return;
    const control = this.#control;
    this.#timeout = this.#timer.deadline(control.rtt);
    this.#deadline = 'retransmission';
    if (this.#phase === 'timeout') return;
    if (lossTime < this.#timeout) {
      this.#timeout = lossTime;
      this.#deadline = 'reordering';
      return;
    }
    const isQuiet = this.#phase === 'open' && scoreboard.ranges === 0 && lost.size === 0;
    if (!this.#sack || !isQuiet || this.#probe !== 'none' || this.#tail.isOutstanding) return;
    const probeAt = this.#activeAt + probeWait(control.rtt, control.inFlight, this.#mss);
    if (probeAt >= this.#timeout) return;
    this.#timeout = Math.max(probeAt, now);
    this.#deadline = 'probe';
  }
}
