import { type SendControl, LEAST_TIME } from '@weir/congestion';
import { RangeSet } from '@weir/base/bytes';
import type { Trace } from '../../trace.ts';
import { Rack } from './rack.ts';
import { TIMESTAMP_TICK } from '../../limits.ts';
import { SackScoreboard, type SackOwner } from './sack-scoreboard.ts';
import { SegmentFlag, SentSegments } from './sent-segments.ts';

/**
 * Losses reported to congestion control in one recovery, and the bytes retransmitted. If DSACK shows that all
 * retransmissions were unnecessary, there was no loss (RFC 3708, RFC 4653), and the reduction is undone.
 *
 * DSACK may arrive after the recovery, so the record is kept until the next one begins.
 */
class RecoveryEpisode {
  #isOver = true;
  /** SND.UNA at the beginning of the recovery: retransmissions below belong to earlier recoveries. */
  #from = 0;
  /** Number of losses reported and not found to be spurious. */
  #losses = 0;
  #sentAt = 0;
  /** Number of bytes retransmitted and not reported as duplicates. */
  #resent = 0;
  /** Time at which data was first retransmitted; `Infinity` before. */
  firstResentAt = Infinity;

  /** Records a loss; the first one after `end` begins another record. */
  onLoss(sentAt: number, sndUna: number): void {
    if (this.#isOver) this.#begin(sndUna);
    if (this.#losses++ === 0) this.#sentAt = sentAt;
  }

  /** Records that one loss was reported as spurious by itself. */
  onSpurious(): void {
    if (this.#losses > 0) this.#losses--;
  }

  onResent(bytes: number, now: number): void {
    this.#resent += bytes;
    this.firstResentAt = Math.min(this.firstResentAt, now);
  }

  /** Called when the recovery has ended. */
  end(): void {
    this.#isOver = true;
  }

  /**
   * Records that bytes arrived twice (DSACK, RFC 2883). Returns whether a retransmission explains that. With the last
   * retransmitted byte, each loss is reported to congestion control as spurious.
   */
  onDuplicate(start: number, end: number, control: SendControl, now: number): boolean {
    if (this.#resent === 0) return false;
    if (start < this.#from) return true;
    this.#resent = Math.max(0, this.#resent - (end - start));
    if (this.#resent > 0) return true;
    for (; this.#losses > 0; this.#losses--) control.onSpuriousLoss(now, this.#sentAt);
    return true;
  }

  #begin(sndUna: number): void {
    this.#isOver = false;
    this.#from = sndUna;
    this.#losses = 0;
    this.#resent = 0;
    this.firstResentAt = Infinity;
  }
}

const { IN_FLIGHT, SACKED, LOST, RETRANSMITTED, REPORTED } = SegmentFlag;

/**
 * The data between SND.UNA and SND.NXT, and its state: delivered, in flight or lost. Keeps `SendControl`'s count of
 * bytes in flight current. Detects losses by RACK; does not decide when data is sent.
 */
export class Outstanding implements SackOwner {
  readonly segments = new SentSegments();
  readonly scoreboard = new SackScoreboard();
  readonly rack = new Rack();
  /** The record of the current or last recovery; created with the first retransmission or loss. */
  episode: RecoveryEpisode | undefined;
  /** Ranges to be retransmitted, on segment boundaries. */
  readonly lost = new RangeSet();
  readonly #control: SendControl;
  readonly #trace: Trace | undefined;
  #mss: number;
  /** SND.UNA. */
  sndUna = 0;
  /** SND.NXT. */
  sndNxt = 0;
  sackedBytes = 0;
  #transmission = 0;
  /** Time at which the next overtaken segment is lost; `Infinity` if there is none. */
  lossTime = Infinity;

  /** State of the current acknowledgement. */
  #now = 0;
  #echo = -1;
  #advances = false;
  #newest = -1;
  #newestRoundTrip = 0;
  #newestIsOriginal = false;
  /** Bytes newly delivered by the current acknowledgement that were sent only once. */
  originalBytes = 0;

  constructor(control: SendControl, mss: number, trace?: Trace) {
    this.#control = control;
    this.#trace = trace;
    this.#mss = mss;
  }

  setMss(mss: number): void {
    this.#mss = mss;
  }

  /** Called when a segment with new data was sent. */
  onSent(end: number, now: number): void {
    const { segments } = this;
    const start = this.sndNxt;
    const slot = segments.append(start, end);
    this.sndNxt = end;
    this.#control.onSent(segments.facts, slot, end - start, now);
    segments.enlist(slot, this.#transmission++);
  }

  /**
   * Called when these bytes were retransmitted. They start at a segment boundary, except for the probe of a large
   * segment's tail.
   */
  onResent(start: number, end: number, now: number): void {
    const { segments } = this;
    const control = this.#control;
    const transmission = this.#transmission++;
    this.lost.remove(start, end);
    this.episode ??= new RecoveryEpisode();
    this.episode.onResent(end - start, now);
    let index = segments.find(start);
    if (segments.start(segments.at(index)) < start) segments.divide(index++, start);
    for (; index < segments.count; index++) {
      const slot = segments.at(index);
      if (segments.start(slot) >= end) break;
      if (segments.end(slot) > end) segments.divide(index, end);
      const flags = segments.flags(slot);
      if ((flags & SACKED) !== 0) continue;
      if ((flags & IN_FLIGHT) !== 0) {
        // A probe of a segment in flight: only one of the two counts in cwnd.
        control.onDiscarded(segments.facts, slot);
        segments.delist(slot);
      }
      segments.setFlags(slot, (flags & ~(LOST | IN_FLIGHT)) | RETRANSMITTED);
      control.onSent(segments.facts, slot, segments.end(slot) - segments.start(slot), now);
      segments.enlist(slot, transmission);
    }
  }

  /**
   * Returns the end of a retransmission that starts at `start`, with at most `size` bytes: whole segments as they were
   * sent, or some packets of the first one.
   */
  resentEnd(start: number, end: number, size: number): number {
    const { segments } = this;
    let index = segments.find(start);
    const first = segments.end(segments.at(index));
    if (first - start > size) return start + Math.max(this.#mss, size - (size % this.#mss));
    let last = first;
    while (++index < segments.count) {
      const next = segments.end(segments.at(index));
      if (next > end || next - start > size) break;
      last = next;
    }
    return last;
  }

  /** Begins an acknowledgement, whose parts follow. */
  beginAck(offset: number, echo: number, now: number): void {
    this.#now = now;
    this.#echo = echo;
    this.#advances = offset > this.sndUna;
    this.#newest = -1;
    this.originalBytes = 0;
    this.rack.beginAck();
  }

  /** Handles SEG.ACK, at most SND.NXT. */
  acknowledge(offset: number): void {
    const { segments } = this;
    while (segments.count > 0) {
      const slot = segments.at(0);
      if (segments.end(slot) > offset) {
        if (segments.start(slot) >= offset) break;
        segments.divide(0, offset);
      }
      if ((segments.flags(slot) & SACKED) === 0) this.#deliver(slot);
      else this.sackedBytes -= segments.end(slot) - segments.start(slot);
      segments.removeFirst();
    }
    this.sndUna = offset;
    this.scoreboard.advance(offset);
  }

  /**
   * Handles a part of a SACK block, from `SackScoreboard`. A peer receives whole packets. Parts of packets are ignored,
   * so that no acknowledgement can divide segments into more than packets.
   */
  sacked(start: number, end: number): void {
    const { segments } = this;
    const mss = this.#mss;
    for (let index = segments.find(start); index < segments.count; index++) {
      const first = segments.start(segments.at(index));
      const last = segments.end(segments.at(index));
      if (first >= end) return;
      const from = start <= first ? first : first + Math.ceil((start - first) / mss) * mss;
      const to = last <= end ? last : first + Math.floor((end - first) / mss) * mss;
      if (from >= to) continue;
      if (from > first) segments.divide(index++, from);
      if (to < last) segments.divide(index, to);
      const slot = segments.at(index);
      this.#deliver(slot);
      segments.setFlags(slot, (segments.flags(slot) & ~LOST) | SACKED);
      this.sackedBytes += to - from;
      this.scoreboard.add(from, to);
    }
  }

  /** Returns the round trip measured by the current acknowledgement (RFC 6298 §3, RFC 7323 §4.1); -1 for none. */
  roundTrip(): number {
    if (this.#newest < 0) return -1;
    if (this.#newestIsOriginal) return this.#newestRoundTrip;
    return this.#advances && this.#echo >= 0 ? this.#now - this.#echo : -1;
  }

  /** RACK_detect_loss: marks segments as lost that were overtaken long enough ago (RFC 8985 §6.2). */
  detectLost(recovers: boolean, now: number): void {
    const { segments, rack } = this;
    const { rtt } = this.#control;
    const lossDelay = rack.lossDelay(recovers, this.sackedBytes, this.#mss, rtt);
    this.lossTime = Infinity;
    for (let slot = segments.oldest; slot >= 0; slot = segments.oldest) {
      if (!rack.isOvertaken(segments.transmission(slot), segments.end(slot))) return;
      const dueAt = segments.facts.sentAt(slot) + lossDelay;
      // The sum may differ from `now` by rounding.
      if (dueAt > now + LEAST_TIME) {
        this.lossTime = dueAt;
        return;
      }
      this.#lose(slot, now);
    }
  }

  /** Without SACK: marks the first packet as lost, as three duplicate ACKs show. */
  loseFirst(now: number): void {
    const { segments } = this;
    if (segments.count === 0) return;
    const slot = segments.at(0);
    if ((segments.flags(slot) & IN_FLIGHT) === 0) return;
    const end = segments.start(slot) + this.#mss;
    if (end < segments.end(slot)) segments.divide(0, end);
    this.#lose(slot, now);
  }

  /** Marks everything in flight as lost. */
  loseAll(now: number): void {
    const { segments } = this;
    for (let slot = segments.oldest; slot >= 0; slot = segments.oldest) this.#lose(slot, now);
    this.lossTime = Infinity;
  }

  /** Applies a lower path MTU: larger segments in flight are retransmitted, which is not a sign of congestion. */
  resize(largest: number): void {
    const { segments } = this;
    for (let index = 0; index < segments.count; index++) {
      const slot = segments.at(index);
      const size = segments.end(slot) - segments.start(slot);
      if ((segments.flags(slot) & IN_FLIGHT) === 0 || size <= largest) continue;
      this.#control.onDiscarded(segments.facts, slot);
      segments.delist(slot);
      this.#repeat(slot);
    }
  }

  /** Whether the peer has reneged (RFC 2018 §8): it reported the first segment, and does not acknowledge it. */
  get isReneged(): boolean {
    const { segments } = this;
    return segments.count > 0 && (segments.flags(segments.at(0)) & SACKED) !== 0;
  }

  /** Discards all SACK reports, so that their data is retransmitted (RFC 2018 §8). */
  forgetSacked(): void {
    const { segments } = this;
    for (let index = 0; index < segments.count; index++) {
      const slot = segments.at(index);
      if ((segments.flags(slot) & SACKED) === 0) continue;
      segments.setFlags(slot, segments.flags(slot) & ~(SACKED | REPORTED));
      this.#repeat(slot);
    }
    this.sackedBytes = 0;
    this.scoreboard.clear();
  }

  #repeat(slot: number): void {
    const { segments } = this;
    segments.setFlags(slot, segments.flags(slot) | LOST);
    this.lost.add(segments.start(slot), segments.end(slot));
  }

  #lose(slot: number, now: number): void {
    const { segments } = this;
    const sentAt = segments.facts.sentAt(slot);
    this.#control.onLost(segments.facts, slot, now);
    segments.delist(slot);
    segments.setLostSentAt(slot, sentAt);
    segments.setFlags(slot, segments.flags(slot) | REPORTED);
    this.#repeat(slot);
    this.episode ??= new RecoveryEpisode();
    this.episode.onLoss(sentAt, this.sndUna);
    if (this.#trace !== undefined) {
      this.#trace({ kind: 'lost', bytes: segments.end(slot) - segments.start(slot) }, now);
    }
  }

  /** Called when a segment is newly acknowledged or reported. */
  #deliver(slot: number): void {
    const { segments } = this;
    const flags = segments.flags(slot);
    const isInFlight = (flags & IN_FLIGHT) !== 0;
    const isRetransmitted = (flags & RETRANSMITTED) !== 0;
    if (isInFlight) {
      if (isRetransmitted && (flags & REPORTED) !== 0 && this.#isOriginal(slot)) {
        this.#spurious(slot);
      }
      this.#control.onAcked(segments.facts, slot);
      segments.delist(slot);
    } else {
      this.lost.remove(segments.start(slot), segments.end(slot));
      if ((flags & REPORTED) === 0) return;
      this.#spurious(slot);
    }
    this.#measure(slot, isRetransmitted);
  }

  #measure(slot: number, isRetransmitted: boolean): void {
    const { segments } = this;
    const now = this.#now;
    const sentAt = segments.facts.sentAt(slot);
    const end = segments.end(slot);
    const transmission = segments.transmission(slot);
    const { minimum } = this.#control.rtt;
    this.rack.onDelivered(sentAt, transmission, end, isRetransmitted, this.#echo, minimum, now);
    if (!isRetransmitted) this.originalBytes += end - segments.start(slot);
    if (transmission < this.#newest) return;
    this.#newest = transmission;
    this.#newestRoundTrip = now - sentAt;
    this.#newestIsOriginal = !isRetransmitted;
  }

  /**
   * Whether the echoed timestamp shows that the original of a segment has arrived, rather than the retransmission
   * (Eifel, RFC 3522). The timestamp is that of the segment that moved SND.UNA. For segments after the first one it
   * must be older than every retransmission.
   */
  #isOriginal(slot: number): boolean {
    if (!this.#advances || this.#echo < 0) return false;
    const { segments } = this;
    const isFirst = segments.start(slot) === this.sndUna;
    const resentAt = isFirst ? segments.facts.sentAt(slot) : this.episode?.firstResentAt;
    return resentAt !== undefined && this.#echo + TIMESTAMP_TICK <= resentAt;
  }

  #spurious(slot: number): void {
    this.#control.onSpuriousLoss(this.#now, this.segments.lostSentAt(slot));
    this.rack.onSpurious(this.sndUna, this.sndNxt);
    this.episode?.onSpurious();
    if (this.#trace !== undefined) this.#trace({ kind: 'spurious', what: 'loss' }, this.#now);
  }
}
