import type { AckEvent, LossEvent } from '../controller.ts';
import type { PathModel } from './path-model.ts';

/**
 * How much loss is congestion. The draft answers more than 2 % in a round while it probes, and any loss
 * otherwise, by slowing down to what was delivered. On a path that loses 2 % at random it slows
 * down so in each of the up to 60 rounds between two probes, to a third of the bandwidth. Weir's users
 * choose this protocol for such paths, where the peers' BBRv1 ignores loss altogether. So a loss is
 * judged by whether the round trips show a queue, which random loss has not made:
 *
 * - With a standing queue 1 % is the loss of its full buffer, and 2 % (the draft's LossThresh) ends a
 *   probe. If the loss was random after all, little is lost: slowing down empties the queue.
 * - Without one, losses say nothing of this flow below 20 %: a probe sends 1.25 times the bandwidth
 *   and can make up for no more (1 - 1/1.25). They end a probe from 15 % on, because a probe adds its own.
 * - Shares are judged over a round and no fewer than 50 packets, else chance decides; a probe ends for
 *   no fewer than six packets, as the draft has it for Startup.
 */
const LOSS_WITH_QUEUE = 0.01;
const LOSS_WITHOUT_QUEUE = 0.2;
const LEAST_PACKETS = 50;
const PROBE_LOSS_WITH_QUEUE = 0.02;
const PROBE_LOSS_WITHOUT_QUEUE = 0.15;
const LEAST_PROBE_LOSSES = 6;
/** Startup ends for losses from here on; until then it waits for the rate to stop growing. */
const STARTUP_LOSS = 0.2;
/** A round trip that exceeds the least one by this factor shows a queue. */
const QUEUE_RTT = 1.25;
/** But by no less than this, in ms: timers and schedulers are no queue. */
const QUEUE_TIME = 2;
/** What a round of congestion leaves at least of a bound (the draft's Beta, CUBIC's factor). */
const BETA = 0.7;
/**
 * How much of the rate is given up in a round, in shares of the loss. The draft slows down to the
 * best sample of the round, which hardly shows that a few packets were lost, so that a flow that
 * fills the path leaves nothing to one that begins. Three times the loss empties the buffer.
 */
const YIELD = 3;

/** Whether this round trip shows a queue. */
const showsQueue = (rtt: number, { minRtt }: PathModel): boolean =>
  rtt > Math.max(QUEUE_RTT * minRtt, minRtt + QUEUE_TIME);

const tolerableProbeLoss = (queue: boolean): number =>
  queue ? PROBE_LOSS_WITH_QUEUE : PROBE_LOSS_WITHOUT_QUEUE;

/** Adapts the short-term bounds to what is delivered in rounds of congestion. */
export class LossResponse {
  #roundEndsAt = 0;
  #roundEnded = false;
  /** Of the round that has just ended. */
  #congested = false;
  #share = 0;
  /** The maxima of the round: what the path has delivered. */
  #bandwidth = 0;
  #inflight = 0;
  #minRtt = Infinity;
  #acked = 0;
  #lost = 0;
  #marked = false;
  /** Whether the newest round trip shows a queue. */
  #queue = false;

  /** The most data that was delivered during the round trip of a packet of this round. */
  get latestInflight(): number {
    return this.#inflight;
  }

  /** Whether the round that has just ended lost so much that Startup is to end. */
  get endsStartup(): boolean {
    return this.#congested && this.#share > STARTUP_LOSS;
  }

  onLoss(bytes: number): void {
    this.#lost += bytes;
  }

  onCongestionExperienced(): void {
    this.#marked = true;
  }

  /** Whether the losses since a packet was sent say that too much was in flight then. */
  isInflightTooHigh(lost: number, inFlight: number, mtu: number): boolean {
    return lost > tolerableProbeLoss(this.#queue) * inFlight && lost >= LEAST_PROBE_LOSSES * mtu;
  }

  /** What was in flight when the losses up to this packet became too many. */
  inflightAtLoss({ bytes, inFlightAtSend, lostSinceSend }: LossEvent): number {
    const share = tolerableProbeLoss(this.#queue);
    const before = inFlightAtSend - bytes;
    const lostBefore = lostSinceSend - bytes;
    return before + (share * before - lostBefore) / (1 - share);
  }

  /** First step of an acknowledgement: what it says of delivery and losses. */
  observe({ acked, latestRtt, rate }: AckEvent, model: PathModel): void {
    this.#bandwidth = Math.max(this.#bandwidth, rate.rate);
    this.#inflight = Math.max(this.#inflight, rate.delivered);
    if (latestRtt > 0) {
      this.#minRtt = Math.min(this.#minRtt, latestRtt);
      this.#queue = showsQueue(latestRtt, model);
    }
    this.#acked += acked;
    this.#roundEnded = rate.priorDelivered >= this.#roundEndsAt;
    this.#congested = false;
    if (!this.#roundEnded) return;
    this.#roundEndsAt = rate.totalDelivered;
    const all = this.#acked + this.#lost;
    if (all >= LEAST_PACKETS * model.mtu) {
      this.#share = this.#lost / all;
      const queue = showsQueue(this.#minRtt, model);
      this.#congested = this.#share > (queue ? LOSS_WITH_QUEUE : LOSS_WITHOUT_QUEUE);
      this.#startCounting();
    }
    if (this.#marked) this.#congested = true;
    this.#marked = false;
  }

  /** Second step, when the bandwidth is up to date. */
  adapt(model: PathModel): void {
    if (!this.#congested || model.isAccelerating) return;
    const bandwidth = Math.min(model.shortTermBandwidth, model.maxBandwidth);
    let target = Math.max(this.#bandwidth, BETA * bandwidth);
    // In the other states the rate is already lower, and the losses are those of a probe.
    if (model.state === 'probe-cruise') {
      target = Math.min(target, bandwidth * (1 - YIELD * this.#share));
    }
    if (this.#share <= LOSS_WITHOUT_QUEUE) {
      // The queue may be another flow's or jitter, and the losses random: until the next probe
      // they cost no more than one reduction.
      model.shortTermBandwidth = Math.max(target, BETA * model.maxBandwidth);
      return;
    }
    model.shortTermBandwidth = Math.max(target, BETA * bandwidth);
    const inflight = Math.min(model.shortTermInflight, model.window);
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

  #startCounting(): void {
    this.#acked = 0;
    this.#lost = 0;
    this.#minRtt = Infinity;
  }
}
