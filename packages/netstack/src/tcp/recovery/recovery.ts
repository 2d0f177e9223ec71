import { Outstanding } from './outstanding.ts';
import { TIMESTAMP_TICK, DUPLICATE_THRESHOLD } from '../../limits.ts';
import type { RttEstimator, SendControl } from '@weir/congestion';
import type { Trace } from '../../trace.ts';
import { DuplicateAcks, type PlannedSegment, type RecoveryPhase, SendPlan } from './send-plan.ts';
import type { ReceivedAck } from './sack-scoreboard.ts';
import { RetransmissionTimer, probeWait, TailLossProbe } from './retransmission-timer.ts';

/**
 * Decides whether a retransmission timeout was spurious, from the first acknowledgements after it: by
 * timestamp (Eifel, RFC 3522), by duplicates (RFC 2883), or because segments that were sent only once have
 * arrived (F-RTO, RFC 5682).
 */
class SpuriousTimeout {
  /** The segment that timed out, and when it had been sent. */
  readonly #offset: number;
  /** Time at which the segment that timed out had been sent. */
  readonly sentAt: number;
  readonly #sack: boolean;
  /** SND.NXT at the timeout. */
  readonly #point: number;
  #firstResentAt = Infinity;

  /** Records the first timeout of a series; data is outstanding. */
  constructor({ segments, sndUna, sndNxt }: Outstanding, sack: boolean) {
    this.#sack = sack;
    this.#point = sndNxt;
    this.#offset = sndUna;
    this.sentAt = segments.facts.sentAt(segments.at(0));
  }

  /** Called when the segment was retransmitted. */
  onResent(now: number): void {
    this.#firstResentAt = Math.min(this.#firstResentAt, now);
  }

  /**
   * Whether an acknowledgement shows that the peer had received the original segment.
   * @param advances whether it moves SND.UNA.
   * @param echo see `ReceivedAck`.
   */
  isSpurious(outstanding: Outstanding, advances: boolean, echo: number): boolean {
    const { scoreboard, originalBytes, sndUna } = outstanding;
    // The retransmission has not left yet, so this acknowledges the original.
    if (this.#firstResentAt === Infinity) return advances || originalBytes > 0;
    if (scoreboard.isDuplicate(this.#offset)) return true;
    // RFC 3522.
    if (advances && echo >= 0) return echo + TIMESTAMP_TICK <= this.#firstResentAt;
    // RFC 5682 §3. Without SACK the acknowledgement does not show which segments have arrived.
    return this.#sack && originalBytes > 0 && sndUna < this.#point;
  }
}

type RecoveryDeadline = 'none' | 'reordering' | 'probe' | 'retransmission';

/**
 * Loss recovery of one connection: RACK-TLP (RFC 8985) if the peer sends SACK, NewReno (RFC 6582) if not. Decides what
 * may be sent now (`SendPlan`), interprets acknowledgements, and reports to `SendControl`. All offsets are plain
 * numbers: the first byte of data is 0, the SYN is not counted, the FIN is one byte after the data.
 */
export class Recovery {
  readonly #control: SendControl;
  readonly #trace: Trace | undefined;
  readonly #outstanding: Outstanding;
  readonly #duplicates = new DuplicateAcks();
  readonly #timer = new RetransmissionTimer();
  readonly #plan: SendPlan;
  readonly #tail = new TailLossProbe();
  #mss: number;
  #sack = false;
  #phase: RecoveryPhase = 'open';
  /** The offset whose acknowledgement ends the phase: RecoveryPoint of RFC 6675. */
  #point = -1;
  /** Time at which data was last sent or acknowledged. */
  #activeAt = 0;
  #timeout = Infinity;
  #deadline: RecoveryDeadline = 'none';
  /** State of the last timeout, created with the first one. */
  #timedOut: SpuriousTimeout | undefined;

  /** @param isPaced whether segments are spread over the round trip. A local path does not need that. */
  constructor(control: SendControl, mss: number, isPaced: boolean, trace?: Trace) {
    this.#control = control;
    this.#mss = mss;
    this.#trace = trace;
    this.#outstanding = new Outstanding(control, mss, trace);
    this.#plan = new SendPlan(
      control,
      this.#outstanding,
      this.#duplicates,
      this.#timer,
      mss,
      isPaced,
    );
  }

  /** SND.UNA. */
  get sndUna(): number {
    return this.#outstanding.sndUna;
  }

  /** SND.NXT: the end of all data that was ever sent. */
  get sndNxt(): number {
    return this.#outstanding.sndNxt;
  }

  /** The congestion window in bytes. */
  get cwnd(): number {
    return this.#control.controller.window;
  }

  get rtt(): RttEstimator {
    return this.#control.rtt;
  }

  /** Number of retransmission timeouts in a row without a response of the peer. */
  get timeouts(): number {
    return this.#timer.count;
  }

  /** The next deadline in milliseconds; `Infinity` for none. */
  get timeout(): number {
    return Math.min(this.#timeout, this.#plan.paceAt);
  }

  /** Whether `plan` held data back because of the peer's window, with nothing in flight: a probe is then due. */
  get isWindowBlocked(): boolean {
    return this.#plan.isWindowBlocked;
  }

  get planned(): Readonly<PlannedSegment> {
    return this.#plan.planned;
  }

  /** Number of segments in the retransmission queue, for tests of its bound. */
  get segments(): number {
    return this.#outstanding.segments.count;
  }

  /** Sets the results of the handshake, before the first segment: SACK, and the bytes of a full segment. */
  start(sack: boolean, mss: number): void {
    this.#sack = sack;
    this.#useMss(mss);
  }

  /**
   * Called when the handshake is complete.
   * @param roundTrip the round trip of the handshake; `undefined` if its SYN was sent more than once.
   */
  onHandshake(roundTrip: number | undefined, now: number): void {
    if (roundTrip === undefined) {
      this.#timer.onLostSyn();
      return;
    }
    this.#control.beginAck(now);
    this.#control.onRtt(roundTrip, 0);
    this.#control.finishAck();
  }

  /** Applies a change of the path MTU. */
  setMss(mss: number, now: number): void {
    const isSmaller = mss < this.#mss;
    this.#useMss(mss);
    if (isSmaller) this.#outstanding.resize(mss);
    this.#arm(now);
  }

  /** Writes the segment that may be sent now into `planned`; returns false for none. See `SendPlan.next`. */
  plan(now: number, available: number, edge: number, largest: number): boolean {
    return this.#plan.next(now, available, edge, largest, this.#phase);
  }

  /** Called when the planned segment was sent. */
  onSent(now: number): void {
    const outstanding = this.#outstanding;
    const plan = this.#plan;
    const { start, end, isRetransmission } = plan.planned;
    const isFirst = start === outstanding.sndUna;
    if (isRetransmission) outstanding.onResent(start, end, now);
    else outstanding.onSent(end, now);
    if (isFirst) this.#timer.restart(now);
    if (plan.plannedProbe === 'tail') {
      this.#tail.onSent(end, isRetransmission ? end - start : 0, now);
      this.#timer.restart(now);
    } else if (plan.plannedProbe === 'first') this.#timedOut?.onResent(now);
    plan.onSent(now);
    this.#activeAt = now;
    this.#arm(now);
  }

  /** Handles an ACK. Returns false, without effect, if it acknowledges data that was never sent. */
  onAck(ack: ReceivedAck, now: number): boolean {
    const outstanding = this.#outstanding;
    const control = this.#control;
    if (!(ack.offset <= outstanding.sndNxt)) return false;
    if (ack.offset < outstanding.sndUna) return true;
    const newly = ack.offset - outstanding.sndUna;
    const advances = newly > 0;
    const inFlight = control.inFlight;
    control.beginAck(now);
    outstanding.beginAck(ack.offset, ack.echo, now);
    if (advances) outstanding.acknowledge(ack.offset);
    if (this.#sack) outstanding.scoreboard.take(ack, outstanding.sndNxt, outstanding);
    const roundTrip = outstanding.roundTrip();
    if (roundTrip >= 0) control.onRtt(roundTrip, 0);
    if (advances) this.#timer.onAnswer(now);
    if (!this.#sack) this.#countDuplicates(ack, newly);
    else this.#takeDuplicates(now);
    if (this.#tail.isOutstanding) this.#judgeProbe(ack, advances, now);
    if (this.#phase === 'timeout' && this.#timedOut !== undefined) {
      this.#judgeTimeout(this.#timedOut, ack, advances, now);
    }
    if (this.#phase !== 'timeout') this.#detectLost(advances, now);
    control.finishAck();
    this.#plan.onAcked(inFlight - control.inFlight);
    this.#activeAt = now;
    this.#arm(now);
    return true;
  }

  onTimeout(now: number): void {
    this.#plan.onTimeout(now);
    if (now < this.#timeout) return;
    switch (this.#deadline) {
      case 'none':
        break;
      case 'reordering':
        this.#detectLost(false, now);
        break;
      case 'probe':
        this.#plan.probe = 'tail';
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

  /** Probes at once with the first unacknowledged segment, if its timeout has passed. */
  onPathRestored(now: number): void {
    if (this.#phase !== 'timeout') return;
    this.#timer.onAnswer(now);
    this.#plan.probe = 'first';
    this.#arm(now);
  }

  /** Counts duplicate ACKs, without SACK. */
  #countDuplicates(ack: ReceivedAck, newly: number): void {
    const { sndUna, sndNxt } = this.#outstanding;
    if (newly > 0) {
      const isPartial = this.#phase === 'recovery' && sndUna < this.#point;
      if (isPartial) this.#duplicates.onPartialAck(newly, this.#mss);
      else this.#duplicates.clear();
    } else if (ack.isDuplicate && sndNxt > sndUna) this.#duplicates.onDuplicate();
  }

  /** Handles DSACK (RFC 2883): data that arrived twice. */
  #takeDuplicates(now: number): void {
    const outstanding = this.#outstanding;
    const { scoreboard, episode } = outstanding;
    if (episode === undefined || !scoreboard.hasDuplicate || this.#tail.isOutstanding) return;
    const { duplicateStart, duplicateEnd } = scoreboard;
    if (!episode.onDuplicate(duplicateStart, duplicateEnd, this.#control, now)) return;
    outstanding.rack.onSpurious(outstanding.sndUna, outstanding.sndNxt);
  }

  #judgeProbe(ack: ReceivedAck, advances: boolean, now: number): void {
    const { scoreboard } = this.#outstanding;
    const duplicateEnd = scoreboard.hasDuplicate ? scoreboard.duplicateEnd : 0;
    if (this.#tail.onAck(ack.offset, duplicateEnd, advances ? ack.echo : -1)) {
      this.#control.onCongestionExperienced(now, this.#tail.sentAt);
    }
  }

  #detectLost(advances: boolean, now: number): void {
    const outstanding = this.#outstanding;
    const { sndUna, sndNxt, lost } = outstanding;
    if (this.#phase !== 'open' && sndUna >= this.#point) {
      this.#phase = 'open';
      outstanding.episode?.end();
      outstanding.rack.onRecovered();
    }
    const isOpen = this.#phase === 'open';
    if (this.#sack) outstanding.detectLost(!isOpen, now);
    else if (this.#isFirstLost(advances)) {
      outstanding.loseFirst(now);
      this.#plan.isForced = true;
    }
    if (!isOpen || lost.size === 0) return;
    this.#phase = 'recovery';
    this.#point = sndNxt;
    this.#plan.isForced = true;
    const probed = this.#tail.resent;
    if (probed > 0) outstanding.episode?.onResent(probed, this.#tail.sentAt);
    this.#tail.cancel();
  }

  /**
   * Whether the first packet is lost, without SACK: three duplicate ACKs, or a partial one in a recovery (RFC 6582
   * §3.2).
   */
  #isFirstLost(advances: boolean): boolean {
    if (this.#phase === 'recovery') return advances;
    if (this.#phase !== 'open') return false;
    // Otherwise duplicates of retransmitted segments would start another recovery.
    const isNew = this.#outstanding.sndUna > this.#point;
    return isNew && this.#duplicates.count >= DUPLICATE_THRESHOLD;
  }

  #onRetransmissionTimeout(now: number): void {
    const outstanding = this.#outstanding;
    if (this.#plan.probe === 'first') {
      // The previous retransmission was not sent yet because the output is full: the peer did not time out.
      this.#timer.restart(now);
      return;
    }
    if (outstanding.isReneged) outstanding.forgetSacked();
    if (this.#phase !== 'timeout') {
      this.#phase = 'timeout';
      this.#point = outstanding.sndNxt;
      this.#timedOut = new SpuriousTimeout(outstanding, this.#sack);
    }
    this.#timer.onTimeout(now);
    if (this.#trace !== undefined) {
      this.#trace({ kind: 'retransmission-timeout', count: this.#timer.count }, now);
    }
    this.#tail.cancel();
    this.#duplicates.clear();
    this.#plan.probe = 'first';
  }

  /** Ends the phase `timeout` with an acknowledgement that shows whether the timeout was spurious. */
  #judgeTimeout(timedOut: SpuriousTimeout, ack: ReceivedAck, advances: boolean, now: number): void {
    const outstanding = this.#outstanding;
    const isSpurious = timedOut.isSpurious(outstanding, advances, ack.echo);
    if (!isSpurious && !advances) return;
    this.#plan.probe = 'none';
    this.#phase = 'open';
    this.#duplicates.clear();
    if (isSpurious) {
      outstanding.episode?.end();
      if (this.#trace !== undefined) this.#trace({ kind: 'spurious', what: 'timeout' }, now);
      return;
    }
    const control = this.#control;
    control.onCongestionExperienced(now, timedOut.sentAt);
    outstanding.loseAll(now);
    control.onPersistentCongestion(now);
    if (outstanding.sndUna < this.#point) this.#phase = 'go-back';
    else outstanding.episode?.end();
  }

  #useMss(mss: number): void {
    this.#mss = mss;
    this.#outstanding.setMss(mss);
    this.#plan.setMss(mss);
    this.#control.onMtu(mss);
  }

  /** Sets `timeout` to the earliest deadline. */
  #arm(now: number): void {
    const { sndUna, sndNxt, lossTime, scoreboard, lost } = this.#outstanding;
    this.#timeout = Infinity;
    this.#deadline = 'none';
    if (sndUna === sndNxt) return;
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
    if (!this.#sack || !isQuiet || this.#plan.probe !== 'none' || this.#tail.isOutstanding) return;
    const probeAt = this.#activeAt + probeWait(control.rtt, control.inFlight, this.#mss);
    if (probeAt >= this.#timeout) return;
    this.#timeout = Math.max(probeAt, now);
    this.#deadline = 'probe';
  }
}
