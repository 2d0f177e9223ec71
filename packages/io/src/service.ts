/** Sockets that a service manager passes to a process, and the process's reports to it. */
export {
  adoptPassedSockets,
  type Claim,
  claimPassed,
  type PassedDescriptor,
  PassedSockets,
  UnixDatagrams,
} from './platform/passed-sockets.ts';
export { openSystemCalls, type SystemCalls } from './platform/sockets/bindings.ts';
