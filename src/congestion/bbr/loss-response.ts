import type { AckEvent, LossEvent } from '../controller.ts';
import type { PathModel } from './path-model.ts';

/**
 * How much loss is congestion. The draft answers more than 2 % in a round while it probes, and any loss
 * otherwise, by slowing down to what was delivered; on a path that loses 2 % at random it then
 * slows down by 2 % in each of the up to 60 rounds between two probes, to a third. Weir's users choose
 * this protocol for such paths, where the peers' BBRv1 ignores loss altogether. So a loss is judged by
 * what a queue would do:
 *
 * - Where round trips show a queue, losses are those of its full buffer from 5 % on. Slowing down to
 *   what was delivered costs nothing there, because a queue delivers at the rate of the bottleneck.
 * - Where they show none, losses say nothing of this flow until they exceed 20 %: a probe sends 1.25
 *   times the bandwidth and cannot measure it beyond that (1 - 1/1.25).
 * - A share is judged over a round and no fewer than 50 packets, else chance decides.
 */
const LOSS_WITH_QUEUE = 0.05;
const LOSS_WITHOUT_QUEUE = 0.2;
const LEAST_PACKETS = 50;
/** A round whose shortest round trip exceeds the least one by so much had a standing queue. */
const QUEUE_RTT = 1.25;
/** But by no less than this, in ms: timers and schedulers are no queue. */
const QUEUE_TIME = 2;
/**
 * While it probes there is always a queue, its own: more than this share of what was in flight, and
 * six packets (the draft's count for Startup), make the volume in flight too much.
 */
const LOSS_WHILE_PROBING = 0.15;
const LEAST_PROBE_LOSSES = 6;
/** What a round of congestion leaves at least of a bound (the draft's Beta, CUBIC's factor). */
const BETA = 0.7;

/** Whether the losses since a packet was sent say that too much was in flight then. */
export const isInflightTooHigh = (lost: number, inFlight: number, mtu: number): boolean =>
  lost > LOSS_WHILE_PROBING * inFlight && lost >= LEAST_PROBE_LOSSES * mtu;

/** What was in flight when the losses up to this packet became too many. */
export function inflightAtLoss({ bytes, inFlightAtSend, lostSinceSend }: LossEvent): number {
  const before = inFlightAtSend - bytes;
  const lostBefore = lostSinceSend - bytes;
  return before + (LOSS_WHILE_PROBING * before - lostBefore) / (1 - LOSS_WHILE_PROBING);
}

/** Adapts the short-term bounds to what is delivered in rounds of congestion. */
export class LossResponse {
  /** Whether the round that has just ended was one of congestion. */
  congested = false;
  #roundEndsAt = 0;
  #roundEnded = false;
  /** The maxima of the round: what the path has delivered. */
  #bandwidth = 0;
  #inflight = 0;
  #minRtt = Infinity;
  #acked = 0;
  #lost = 0;
  #marked = false;

  /** The most data that was delivered during the round trip of a packet of this round. */
  get latestInflight(): number {
    return this.#inflight;
  }

  onLoss(bytes: number): void {
    this.#lost += bytes;
  }

  onCongestionExperienced(): void {
    this.#marked = true;
  }

  /** First step of an acknowledgement: what it says of delivery and losses. */
  observe({ acked, latestRtt, rate }: AckEvent, model: PathModel): void {
    this.#bandwidth = Math.max(this.#bandwidth, rate.rate);
    this.#inflight = Math.max(this.#inflight, rate.delivered);
    if (latestRtt > 0) this.#minRtt = Math.min(this.#minRtt, latestRtt);
    this.#acked += acked;
    this.#roundEnded = rate.priorDelivered >= this.#roundEndsAt;
    this.congested = false;
    if (!this.#roundEnded) return;
    this.#roundEndsAt = rate.totalDelivered;
    this.congested = this.#marked || this.#judge(model);
    this.#marked = false;
  }

  /** Second step, when the bandwidth is up to date. */
  adapt(model: PathModel): void {
    if (!this.congested || model.isAccelerating) return;
    const bandwidth = Math.min(model.shortTermBandwidth, model.maxBandwidth);
    const inflight = Math.min(model.shortTermInflight, model.window);
    model.shortTermBandwidth = Math.max(this.#bandwidth, BETA * bandwidth);
    model.shortTermInflight = Math.max(this.#inflight, BETA * inflight);
  }

  /** Last step: the next round begins with this sample. */
  finish({ rate }: AckEvent): void {
    if (!this.#roundEnded) return;
    this.#bandwidth = rate.rate;
    this.#inflight = rate.delivered;
  }

  /** Forgets the present round. */
  reset(): void {
    this.#bandwidth = 0;
    this.#inflight = 0;
    this.#startCounting();
    this.#marked = false;
  }

  #judge(model: PathModel): boolean {
    const all = this.#acked + this.#lost;
    if (all < LEAST_PACKETS * model.mtu) return false;
    const share = this.#lost / all;
    const queue = this.#minRtt > Math.max(QUEUE_RTT * model.minRtt, model.minRtt + QUEUE_TIME);
    this.#startCounting();
    return share > (queue ? LOSS_WITH_QUEUE : LOSS_WITHOUT_QUEUE);
  }

  #startCounting(): void {
    this.#acked = 0;
    this.#lost = 0;
    this.#minRtt = Infinity;
  }
}
