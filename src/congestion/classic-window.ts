import {
  type AckEvent,
  type CongestionController,
  type ControllerName,
  initialWindow,
  type LossEvent,
  MINIMUM_WINDOW_PACKETS,
} from './controller.ts';
import { RecoveryEpoch } from './recovery-epoch.ts';
import { INITIAL_RTT } from './rtt.ts';

/** A window that is nearly full counts as full: packets are not sent in fractions. */
const SLACK_PACKETS = 3;

/** How much faster than a window a round trip a window-based controller is paced (RFC 9002 §7.7). */
const PACING_GAIN = 1.25;
/** In slow start, where the window doubles in each round trip. */
const SLOW_START_PACING_GAIN = 2;

/**
 * What controllers have in common that know a window and a slow-start threshold: losses reduce it once
 * in a recovery period (RFC 9002 §7.3), and the window is spread over the round trip.
 */
export abstract class ClassicWindow implements CongestionController {
  abstract readonly name: ControllerName;
  protected readonly epoch = new RecoveryEpoch();
  protected mtu: number;
  /** Bytes that may be in flight, `window` to others. */
  protected size: number;
  protected threshold = Infinity;
  protected smoothedRtt = 0;
  #hasSent = false;

  /** @param mtu the most bytes of a packet. */
  constructor(mtu: number) {
    this.mtu = mtu;
    this.size = initialWindow(mtu);
  }

  get window(): number {
    return this.size;
  }

  get pacingRate(): number {
    return windowPacingRate(this.size, this.smoothedRtt, this.inSlowStart);
  }

  /** The window follows acknowledgements and losses alone. */
  onSent(): void {
    this.#hasSent = true;
  }

  abstract onAck(event: AckEvent): void;

  onLoss({ now, sentAt }: LossEvent): void {
    if (this.epoch.onLoss(now, sentAt)) this.reduce();
  }

  onCongestionExperienced(now: number, sentAt: number): void {
    if (this.epoch.onCongestionExperienced(now, sentAt)) this.reduce();
  }

  abstract onPersistentCongestion(now: number): void;
  abstract onSpuriousLoss(now: number, sentAt: number): void;

  onMtu(bytes: number): void {
    this.mtu = bytes;
    // Before anything was sent it is the initial window that changes (RFC 9002 §7.2, RFC 6928 §2).
    if (!this.#hasSent) this.size = initialWindow(bytes);
    this.size = Math.max(this.size, this.minimum);
  }

  /** A recovery period begins. */
  protected abstract reduce(): void;

  /** Whether the window limited what this acknowledgement acknowledges. */
  protected wasUsed(event: AckEvent): boolean {
    return windowWasUsed(event, this.size, this.inSlowStart, this.mtu);
  }

  protected get inSlowStart(): boolean {
    return this.size < this.threshold;
  }

  protected get minimum(): number {
    return MINIMUM_WINDOW_PACKETS * this.mtu;
  }
}

/**
 * Whether the window limited what this acknowledgement acknowledges, so that it may grow (RFC 9002
 * §7.8). Waiting for the pacer counts as limited by the window. In slow start half a window is enough:
 * it will have doubled when the next one is acknowledged.
 */
function windowWasUsed(event: AckEvent, window: number, slowStart: boolean, mtu: number): boolean {
  const { appLimited, inFlightAtSend } = event.rate;
  if (!appLimited) return true;
  return slowStart ? inFlightAtSend * 2 >= window : inFlightAtSend + SLACK_PACKETS * mtu >= window;
}

/** Bytes per millisecond that spread a window over a round trip. */
function windowPacingRate(window: number, smoothedRtt: number, slowStart: boolean): number {
  const gain = slowStart ? SLOW_START_PACING_GAIN : PACING_GAIN;
  return (gain * window) / (smoothedRtt > 0 ? smoothedRtt : INITIAL_RTT);
}
