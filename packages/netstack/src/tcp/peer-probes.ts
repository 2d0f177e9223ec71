import type { RttEstimator } from '@weir/congestion';
import type { Trace } from '../trace.ts';
import type { Deadlines } from './state.ts';
import {
  FIRST_WINDOW_PROBE,
  KEEP_ALIVE_INTERVAL,
  KEEP_ALIVE_PROBES,
  LEAST_WINDOW_PROBE,
  MAX_WINDOW_PROBE,
  USER_TIMEOUT,
} from '../limits.ts';

/**
 * Checks whether the peer still responds: keep-alive probes of an idle connection (RFC 9293 §3.8.4),
 * probes of a zero window (§3.8.6.1), and the user timeout of everything unacknowledged (§3.8.3).
 */
export class PeerProbes {
  readonly #deadlines: Deadlines;
  readonly #keepAlive: number;
  readonly #trace: Trace | undefined;
  /** Whether a probe has to be sent with the next `transmit`. */
  isDue = false;
  /** Time at which the last acceptable segment of the peer arrived, in milliseconds. */
  heardAt: number;
  #keepAliveProbes = 0;
  /** Number of window probes since the window last opened. */
  #windowProbes = 0;
  /** Number of window probes since the last segment of the peer. */
  #unansweredProbes = 0;

  /** @param keepAlive milliseconds: see `TcpSettings`. */
  constructor(deadlines: Deadlines, keepAlive: number, trace: Trace | undefined, now: number) {
    this.#deadlines = deadlines;
    this.#keepAlive = keepAlive;
    this.#trace = trace;
    this.heardAt = now;
  }

  /** Whether the window was probed since it last opened. */
  get isProbingWindow(): boolean {
    return this.#windowProbes > 0;
  }

  /** Whether the peer has responded to all window probes, except perhaps the one in flight. */
  get isAnswered(): boolean {
    return this.#unansweredProbes < 2;
  }

  /** Whether a probe was sent that is still unanswered. */
  get isBackedOff(): boolean {
    return this.#windowProbes > 0 || this.#keepAliveProbes > 0;
  }

  onEstablished(now: number): void {
    if (this.#keepAlive > 0) this.#deadlines.set('keepAlive', now + this.#keepAlive);
  }

  /** Called when an acceptable segment of the peer has arrived. */
  onHeard(now: number): void {
    this.heardAt = now;
    this.#keepAliveProbes = 0;
    this.#unansweredProbes = 0;
  }

  /** Called when the right edge of the peer's window has moved. */
  onWindowOpened(): void {
    this.#windowProbes = 0;
    this.#deadlines.clear('persist');
  }

  /** Called when data waits for the window, whose update may have been lost (§3.8.6.1): sets the persist timer. */
  onWindowBlocked(rtt: RttEstimator, now: number): void {
    const deadlines = this.#deadlines;
    if (deadlines.isSet('persist')) return;
    const first =
      rtt.firstSampleAt === undefined
        ? FIRST_WINDOW_PROBE
        : Math.max(rtt.smoothed + 4 * rtt.variation, LEAST_WINDOW_PROBE);
    const interval = Math.min(first * 2 ** this.#windowProbes, MAX_WINDOW_PROBE);
    deadlines.set('persist', now + interval);
    this.startUserTimeout(now);
  }

  /** Handles the persist timer. */
  onPersistTimeout(now: number): void {
    this.#windowProbes++;
    this.#unansweredProbes++;
    this.isDue = true;
    const trace = this.#trace;
    if (trace !== undefined) trace({ kind: 'window-probe', count: this.#windowProbes }, now);
  }

  /**
   * Handles the keep-alive timer. Data in flight and window probes serve as probes themselves.
   * @returns false if the peer has responded to none of the probes: the connection has failed.
   */
  onKeepAliveTimeout(isAwaitingAck: boolean, now: number): boolean {
    const deadlines = this.#deadlines;
    const dueAt = this.heardAt + this.#keepAlive;
    if (dueAt > now) deadlines.set('keepAlive', dueAt);
    else if (isAwaitingAck || deadlines.isSet('persist')) {
      deadlines.set('keepAlive', now + this.#keepAlive);
    } else if (this.#keepAliveProbes >= KEEP_ALIVE_PROBES) return false;
    else {
      this.#keepAliveProbes++;
      this.isDue = true;
      deadlines.set('keepAlive', now + KEEP_ALIVE_INTERVAL);
      if (this.#trace !== undefined) this.#trace({ kind: 'keep-alive' }, now);
    }
    return true;
  }

  /** Starts the user timeout: a segment was sent that the peer must acknowledge, or its window is closed. */
  startUserTimeout(now: number): void {
    if (!this.#deadlines.isSet('user')) this.#deadlines.set('user', now + USER_TIMEOUT);
  }

  /**
   * Restarts the user timeout: data was acknowledged, or the peer responds while its window is closed, which it may
   * keep closed indefinitely (§3.8.6.1).
   * @param isWaiting whether more data is unacknowledged, or waits for the window.
   */
  restartUserTimeout(isWaiting: boolean, now: number): void {
    if (isWaiting) this.#deadlines.set('user', now + USER_TIMEOUT);
    else this.#deadlines.clear('user');
  }

  /** Called when the path delivers again: unanswered probes are repeated at once. */
  onPathRestored(): void {
    if (!this.isBackedOff) return;
    this.isDue = true;
    if (this.#windowProbes > 0) this.onWindowOpened();
  }
}
