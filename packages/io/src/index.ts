/** Errors, clocks, limits of time, and the contracts of links and sockets. */
export {
  type DialObserver,
  type DialStep,
  DialTimer,
  type DialTimes,
  ServerReach,
  toDialTimes,
  type TraceSink,
} from './net/dial-steps.ts';
export {
  abortedDial,
  DeadlineError,
  DialError,
  type DialErrorCode,
  isOfThisHost,
  LINK_CLOSED,
  LinkClosedError,
  ProtocolError,
  toDialError,
  TruncatedError,
} from './net/errors.ts';
