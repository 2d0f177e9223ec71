import { copyEndpoint, type IpEndpoint } from '@weir/base/ip';
import { AgedSet } from '@weir/base/timers';
import type { FlowTable, Keyed } from './flow-table.ts';
import { MAX_TIME_WAIT } from '../limits.ts';
import type { TimeWait } from '../tcp/time-wait.ts';

/** A connection in TIME-WAIT: its endpoints, and the state that responds to segments. */
export class TimeWaitFlow implements Keyed {
  readonly local: IpEndpoint;
  readonly remote: IpEndpoint;
  readonly timeWait: TimeWait;
  hash = 0;
  nextKeyed: Keyed | undefined = undefined;

  constructor(local: IpEndpoint, remote: IpEndpoint, timeWait: TimeWait) {
    this.local = copyEndpoint(local);
    this.remote = copyEndpoint(remote);
    this.timeWait = timeWait;
  }
}

/**
 * The connections in TIME-WAIT, found by their endpoints. All wait for the same time, so that a list in the order of
 * arrival is in the order of expiry. At `MAX_TIME_WAIT` the oldest is removed early.
 */
export class TimeWaitFlows {
  readonly #table: FlowTable<TimeWaitFlow>;
  /** Connections in the order in which they expire. */
  readonly #waiting = new AgedSet<TimeWaitFlow>();
  readonly #most: number;

  constructor(table: FlowTable<TimeWaitFlow>, most = MAX_TIME_WAIT) {
    this.#table = table;
    this.#most = most;
  }

  get size(): number {
    return this.#waiting.size;
  }

  find(local: IpEndpoint, remote: IpEndpoint): TimeWaitFlow | undefined {
    return this.#table.find(local, remote);
  }

  add(flow: TimeWaitFlow): void {
    if (this.#waiting.size >= this.#most) {
      const { oldest } = this.#waiting;
      if (oldest !== undefined) this.remove(oldest);
    }
    this.#table.add(flow);
    this.#waiting.add(flow);
  }

  /** Restarts the wait of a connection. */
  restart(flow: TimeWaitFlow): void {
    if (this.#waiting.delete(flow)) this.#waiting.add(flow);
  }

  remove(flow: TimeWaitFlow): void {
    if (this.#waiting.delete(flow)) this.#table.remove(flow);
  }

  /** Returns the time at which `onTimeout` is due, in milliseconds; Infinity for never. */
  nextTimeout(): number {
    return this.#waiting.oldest?.timeWait.expiresAt ?? Infinity;
  }

  onTimeout(now: number): void {
    for (let flow = this.#waiting.oldest; flow; flow = this.#waiting.oldest) {
      if (flow.timeWait.expiresAt > now) return;
      this.remove(flow);
    }
  }
}
