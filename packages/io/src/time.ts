/** Clocks, deadlines and limits of time. */
export { type Clock, systemClock, type Timer } from './net/time/clock.ts';
export { Deadline } from './net/time/deadline.ts';
export {
  CONFIG_STREAM_MS,
  DIAL_MS,
  FIRST_PAYLOAD_MS,
  HALF_CLOSED_IDLE_MS,
  HANDSHAKE_MS,
  TLS_HANDSHAKE_MS,
  UDP_DNS_IDLE_MS,
  UDP_IDLE_MS,
  udpIdleMs,
} from './net/time/time-limits.ts';
export { atOnce, type Steps, Turns, TurnShare } from './net/time/turns.ts';
export { abortReason, unlessAborted } from './net/time/unless-aborted.ts';
