import { type AckEvent, INITIAL_RTT } from './controller.ts';

/** A window that is nearly full counts as full: packets are not sent in fractions. */
const SLACK_PACKETS = 3;

/** How much faster than a window a round trip a window-based controller is paced (RFC 9002 §7.7). */
const PACING_GAIN = 1.25;
/** In slow start, where the window doubles in each round trip. */
const SLOW_START_PACING_GAIN = 2;

/**
 * Whether the window limited what this acknowledgement acknowledges, so that it may grow (RFC 9002
 * §7.8). Waiting for the pacer counts as limited by the window. In slow start half a window is enough:
 * it will have doubled when the next one is acknowledged.
 */
export function windowWasUsed(
  event: AckEvent,
  window: number,
  slowStart: boolean,
  mtu: number,
): boolean {
  const { appLimited, inFlightAtSend } = event.rate;
  if (!appLimited) return true;
  return slowStart ? inFlightAtSend * 2 >= window : inFlightAtSend + SLACK_PACKETS * mtu >= window;
}

/** Bytes per millisecond that spread a window over a round trip. */
export function windowPacingRate(window: number, smoothedRtt: number, slowStart: boolean): number {
  const gain = slowStart ? SLOW_START_PACING_GAIN : PACING_GAIN;
  return (gain * window) / (smoothedRtt > 0 ? smoothedRtt : INITIAL_RTT);
}
