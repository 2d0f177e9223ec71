import { LEAST_SHARED_FLOWS, LEFT_TO_UDP } from '../limits.ts';

export interface FlowCounts {
  readonly tcp: () => number;
  readonly udp: () => number;
  /** Returns the bound of flows; see `StackSettings`. */
  readonly maxFlows: () => number;
}

/** The bound of TCP connections and UDP associations together, a part of which is reserved for associations. */
export class FlowLimit {
  readonly #counts: FlowCounts;

  constructor(counts: FlowCounts) {
    this.#counts = counts;
  }

  get hasRoomForUdp(): boolean {
    return this.#flows < this.#counts.maxFlows();
  }

  get hasRoomForTcp(): boolean {
    const { tcp, udp } = this.#counts;
    return tcp() + Math.max(udp(), this.#leftToUdp) < this.#counts.maxFlows();
  }

  /** Whether an association has to be evicted for a connection. */
  get isUdpCrowding(): boolean {
    return this.isFull && this.#counts.udp() > this.#leftToUdp;
  }

  get isFull(): boolean {
    return this.endMakesRoom && this.#flows === this.#counts.maxFlows();
  }

  /**
   * Whether there will be room as soon as another flow ends: after a change of the settings there may be more flows
   * than the limit.
   */
  get endMakesRoom(): boolean {
    const maxFlows = this.#counts.maxFlows();
    return maxFlows >= LEAST_SHARED_FLOWS && this.#flows <= maxFlows;
  }

  get #flows(): number {
    return this.#counts.tcp() + this.#counts.udp();
  }

  get #leftToUdp(): number {
    return Math.floor(this.#counts.maxFlows() * LEFT_TO_UDP);
  }
}
