import type { AckEvent, LossEvent } from '../controller.ts';
import type { PathModel } from './path-model.ts';

/**
 * The loss rates that count as congestion. The draft responds to more than 2 % in a round while it probes, and to any
 * loss otherwise, by slowing down to the rate that was delivered. On a path with 2 % of random loss it therefore
 * slows down in each of the up to 60 rounds between two probes, to a third of the bandwidth. Weir's users choose
 * this protocol for such paths, on which the peers' BBRv1 ignores loss altogether. So the response depends on
 * whether the round trips show a queue, which random loss does not build:
 *
 * - With a standing queue, 1 % beyond the background loss means that the buffer is full, and 2 % (the draft's
 *   LossThresh) ends a probe. If the loss was random after all, the cost is small: slowing down empties the queue.
 * - Without a queue, loss below 20 % is not caused by this flow: a probe sends 1.25 times the bandwidth and cannot
 *   compensate for more (1 - 1/1.25). It ends a probe from 15 % on, because a probe adds losses of its own.
 * - The loss rate is measured over a round and at least 50 packets, to exclude chance; a probe needs at least six
 *   lost packets to end, as Startup in the draft.
 */
const LOSS_WITH_QUEUE = 0.01;
const LOSS_WITHOUT_QUEUE = 0.2;
const LEAST_PACKETS = 50;
const PROBE_LOSS_WITH_QUEUE = 0.02;
const PROBE_LOSS_WITHOUT_QUEUE = 0.15;
const LEAST_PROBE_LOSSES = 6;
/**
 * The background loss is a moving average over the rounds between probes. With a queue only the loss beyond it
 * counts: jitter looks like a queue as well, and a path with jitter and random loss would be used to 90 % only.
 * For a probe it counts one and a half times, to allow for chance. Otherwise each probe on such a path would end
 * at once, at a little less in flight than the one before.
 */
const BACKGROUND_WEIGHT = 1 / 8;
const BACKGROUND_FACTOR = 1.5;
/** Loss rate at which Startup ends; below it, Startup waits for the delivery rate to stop growing. */
const STARTUP_LOSS = 0.2;
/** The draft's Beta, CUBIC's factor: in one round of congestion a bound is reduced at most to this fraction. */
const BETA = 0.7;
/**
 * The reduction of the rate in a round of congestion, as a multiple of the excess loss. The draft slows down to the
 * best sample of the round, which a few lost packets hardly lower, so that a flow that fills the path leaves no
 * bandwidth to a new flow. Three times the loss empties the buffer.
 */
const YIELD = 3;

/** Adapts the short-term bounds to the data delivered in rounds of congestion. */
export class LossResponse {
  #roundEndsAt = 0;
  #roundEnded = false;
  /** Whether the round that has just ended was congested, and its loss rate. */
  #congested = false;
  #share = 0;
  /** The loss rate beyond the background loss. */
  #excess = 0;
  /** Maxima of the current round: the delivery rate, and the bytes delivered in a round trip. */
  #bandwidth = 0;
  /** Maximum number of bytes delivered during the round trip of a packet of this round. */
  latestInflight = 0;
  #minRtt = Infinity;
  #acked = 0;
  #lost = 0;
  #marked = false;
  /** Whether the last round-trip time shows a queue. */
  #queue = false;
  /** The background loss: the loss rate while this flow does not change its rate. */
  #background = 0;

  /** Whether the loss rate of the round that has just ended ends Startup. */
  get endsStartup(): boolean {
    return this.#congested && this.#share > STARTUP_LOSS;
  }

  onLoss(bytes: number): void {
    this.#lost += bytes;
  }

  onCongestionExperienced(): void {
    this.#marked = true;
  }

  /** Whether the losses since a packet was sent show that too much data was in flight at that time. */
  isInflightTooHigh(lost: number, inFlight: number, mtu: number): boolean {
    return lost > this.#tolerableProbeLoss() * inFlight && lost >= LEAST_PROBE_LOSSES * mtu;
  }

  /** Returns the bytes in flight at which the losses up to this packet became excessive (BBRInflightAtLoss). */
  inflightAtLoss({ bytes, inFlightAtSend, lostSinceSend }: LossEvent): number {
    const share = this.#tolerableProbeLoss();
    const before = inFlightAtSend - bytes;
    const lostBefore = lostSinceSend - bytes;
    return before + (share * before - lostBefore) / (1 - share);
  }

  /** First step of an acknowledgement: records its delivery rate and losses. */
  observe({ acked, latestRtt, rate }: AckEvent, model: PathModel): void {
    this.#bandwidth = Math.max(this.#bandwidth, rate.rate);
    this.latestInflight = Math.max(this.latestInflight, rate.delivered);
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

  /** Second step of an acknowledgement, after the bandwidth was updated: adapts the bounds. */
  adapt(model: PathModel): void {
    if (!this.#congested || model.isAccelerating) return;
    const bandwidth = Math.min(model.shortTermBandwidth, model.maxBandwidth);
    const delivered = Math.max(this.#bandwidth, BETA * bandwidth);
    if (this.#share > LOSS_WITHOUT_QUEUE) {
      const inflight = Math.min(model.shortTermInflight, model.window);
      model.shortTermBandwidth = delivered;
      model.shortTermInflight = Math.max(this.latestInflight, BETA * inflight);
      return;
    }
    // In the other states the rate is already below the bandwidth, so that it does not measure the path, and the
    // queue and the losses come from the previous probe.
    if (model.state !== 'probe-cruise') return;
    // The queue may be jitter or another flow's, and the losses random: until the next probe they cost at most one
    // reduction.
    model.shortTermBandwidth = Math.max(
      Math.min(delivered, bandwidth * (1 - YIELD * this.#excess)),
      BETA * model.maxBandwidth,
    );
  }

  /** Last step of an acknowledgement: the next round starts with this sample. */
  finish({ rate }: AckEvent): void {
    if (!this.#roundEnded) return;
    this.#bandwidth = rate.rate;
    this.latestInflight = rate.delivered;
  }

  /** Discards the current round. */
  reset(): void {
    this.#bandwidth = 0;
    this.latestInflight = 0;
    this.#startCounting();
    this.#marked = false;
  }

  #tolerableProbeLoss(): number {
    const beyond = PROBE_LOSS_WITH_QUEUE + BACKGROUND_FACTOR * this.#background;
    return this.#queue ? beyond : Math.max(PROBE_LOSS_WITHOUT_QUEUE, beyond);
  }

  #startCounting(): void {
    this.#acked = 0;
    this.#lost = 0;
    this.#minRtt = Infinity;
  }
}
