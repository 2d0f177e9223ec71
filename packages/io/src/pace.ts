/** Shares and turns of the event loop, limits of a rate. */
export { IdleTimer } from './net/time/idle-timer.ts';
export { LogLimiter, type LogNote } from './net/time/log-limiter.ts';
export { RateLimit } from './net/time/rate-limit.ts';
export { type Defer, inNextTurn, TurnLoop } from './net/time/turn-loop.ts';
