import type { AckEvent, LossEvent } from '../controller.ts';
import type { PathModel } from './path-model.ts';

/**
 * How much loss is congestion. The draft answers more than 2 % in a round while it probes, and any loss
 * otherwise, by slowing down to what was delivered. On a path that loses 2 % at random it slows
 * down so in each of the up to 60 rounds between two probes, to a third of the bandwidth. Weir's users
 * choose this protocol for such paths, where the peers' BBRv1 ignores loss altogether. So a loss is
 * judged by whether the round trips show a queue, which random loss has not made:
 *
 * - With a standing queue 1 % beyond what is lost anyway is the loss of its full buffer, and 2 % (the draft's LossThresh) ends a
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
/**
 * What is lost anyway is a moving average of the rounds between probes. A queue is judged by what is
 * lost beyond it: jitter looks like a queue as well, and a path with jitter and random loss would be used
 * to 90 %. A probe is judged so with half as much again for chance. Else each probe on a path with jitter and random loss
 * would end at once, at a little less in flight than the one before.
 */
const BACKGROUND_WEIGHT = 1 / 8;
const BACKGROUND_FACTOR = 1.5;
/** Startup ends for losses from here on; until then it waits for the rate to stop growing. */
const STARTUP_LOSS = 0.2;
/** What a round of congestion leaves at least of a bound (the draft's Beta, CUBIC's factor). */
const BETA = 0.7;
/**
 * How much of the rate is given up in a round, in shares of the loss that counts. The draft slows down to the
 * best sample of the round, which hardly shows that a few packets were lost, so that a flow that
 * fills the path leaves nothing to one that begins. Three times the loss empties the buffer.
 */
const YIELD = 3;

/** Adapts the short-term bounds to what is delivered in rounds of congestion. */
export class LossResponse {
  #roundEndsAt = 0;
  #roundEnded = false;
  /** Of the round that has just ended. */
  #congested = false;
  #share = 0;
  /** What of it is more than the path loses anyway. */
  #excess = 0;
  /** The maxima of the round: what the path has delivered. */
  #bandwidth = 0;
  #inflight = 0;
  #minRtt = Infinity;
  #acked = 0;
  #lost = 0;
  #marked = false;
  /** Whether the newest round trip shows a queue. */
  #queue = false;
  /** What the path loses while this flow only keeps its rate. */
  #background = 0;

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
    return lost > this.#tolerableProbeLoss * inFlight && lost >= LEAST_PROBE_LOSSES * mtu;
  }

  /** What was in flight when the losses up to this packet became too many. */
  inflightAtLoss({ bytes, inFlightAtSend, lostSinceSend }: LossEvent): number {
    const share = this.#tolerableProbeLoss;
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
      this.#queue = model.showsQueue(latestRtt);
    }
    this.#acked += acked;
    this.#roundEnded = rate.priorDelivered >= this.#roundEndsAt;
    this.#congested = false;
    if (!this.#roundEnded) return;
    this.#roundEndsAt = rate.totalDelivered;
    const all = this.#acked + this.#lost;
    if (all >= LEAST_PACKETS * model.mtu) {
      this.#share = this.#lost / all;
      this.#excess = this.#share - this.#background;
      const isQueueFull = model.showsQueue(this.#minRtt) && this.#excess > LOSS_WITH_QUEUE;
      this.#congested = isQueueFull || this.#share > LOSS_WITHOUT_QUEUE;
      if (model.state === 'probe-cruise') {
        this.#background += BACKGROUND_WEIGHT * (this.#share - this.#background);
      }
      this.#startCounting();
    }
    if (this.#marked) this.#congested = true;
    this.#marked = false;
  }

  /** Second step, when the bandwidth is up to date. */
  adapt(model: PathModel): void {
    if (!this.#congested || model.isAccelerating) return;
    const bandwidth = Math.min(model.shortTermBandwidth, model.maxBandwidth);
    const delivered = Math.max(this.#bandwidth, BETA * bandwidth);
    if (this.#share > LOSS_WITHOUT_QUEUE) {
      const inflight = Math.min(model.shortTermInflight, model.window);
      model.shortTermBandwidth = delivered;
      model.shortTermInflight = Math.max(this.#inflight, BETA * inflight);
      return;
    }
    // In the other states the rate is lower already, so that it says nothing of the path, and queue
    // and losses are those of the probe before.
    if (model.state !== 'probe-cruise') return;
    // The queue may be another flow's, or jitter, and the losses random: until the next probe they
    // cost no more than one reduction.
    model.shortTermBandwidth = Math.max(
      Math.min(delivered, bandwidth * (1 - YIELD * this.#excess)),
      BETA * model.maxBandwidth,
    );
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

  get #tolerableProbeLoss(): number {
    const beyond = PROBE_LOSS_WITH_QUEUE + BACKGROUND_FACTOR * this.#background;
    return this.#queue ? beyond : Math.max(PROBE_LOSS_WITHOUT_QUEUE, beyond);
  }

  #startCounting(): void {
    this.#acked = 0;
    this.#lost = 0;
    this.#minRtt = Infinity;
  }
}
