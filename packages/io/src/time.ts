/** Clocks, deadlines, limits of time, and turns of the event loop. */
export {
  abortReason,
  type Clock,
  CONFIG_STREAM_MS,
  Deadline,
  DIAL_MS,
  FIRST_PAYLOAD_MS,
  HALF_CLOSED_IDLE_MS,
  HANDSHAKE_MS,
  systemClock,
  type Timer,
  TLS_HANDSHAKE_MS,
  UDP_DNS_IDLE_MS,
  UDP_IDLE_MS,
  udpIdleMs,
  unlessAborted,
} from './net/time/clock.ts';
export {
  atOnce,
  type Defer,
  inNextTurn,
  inSteps,
  resumedInTurns,
  type Steps,
  TurnLoop,
  Turns,
  TurnShare,
} from './net/time/turns.ts';
