import { RESTORED_A_TURN, RESTORED_INTERVAL, SCANNED_A_TURN } from '../limits.ts';
import type { TcpFlow } from './tcp-flow.ts';

/**
 * Connections that retransmit unacknowledged data after their path was restored: a few at a time, since all may have
 * waited for the path.
 */
export class RestoredFlows {
  #flows: readonly TcpFlow[] = [];
  #next = 0;
  #at = Infinity;

  /** Starts a round through `flows`: those in backoff are restored. Replaces an earlier round. */
  begin(flows: readonly TcpFlow[], now: number): void {
    this.#flows = flows;
    this.#next = 0;
    this.#at = now;
  }

  /** Returns the time at which the next connections are due, in milliseconds; Infinity if none are left. */
  nextTimeout(): number {
    return this.#at;
  }

  /** Calls `restore` for connections that are due. */
  onTimeout(now: number, restore: (flow: TcpFlow) => void): void {
    if (now < this.#at) return;
    const end = Math.min(this.#next + SCANNED_A_TURN, this.#flows.length);
    for (let count = 0; this.#next < end && count < RESTORED_A_TURN; this.#next++) {
      const flow = this.#flows[this.#next];
      if (flow === undefined || flow.isForgotten || !flow.connection.isBackedOff) continue;
      restore(flow);
      count++;
    }
    this.#at = now + RESTORED_INTERVAL;
    if (this.#next < this.#flows.length) return;
    this.#flows = [];
    this.#at = Infinity;
  }
}
