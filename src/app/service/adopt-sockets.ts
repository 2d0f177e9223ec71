import { messageOf } from '../../errors.ts';
import type { Logger } from '../../log/logger.ts';
import {
  adoptPassedSockets,
  PassedSockets,
  type PassedDescriptor,
} from '../../platform/passed-sockets.ts';
import { openSystemCalls, type SystemCalls } from '../../platform/sockets/bindings.ts';

/** The sockets that a service manager has passed to the process. */
export interface AdoptedSockets {
  /** Logs sockets that no listener uses; call it when everything is bound. */
  warnOfUnused(): void;
}

/**
 * Makes listeners use the sockets that a service manager has passed, and logs unusable ones.
 *
 * @param openCalls throws a NativeError where native calls are not available
 */
export function adoptSockets(
  descriptors: readonly PassedDescriptor[],
  log: Logger,
  openCalls: () => SystemCalls = openSystemCalls,
): AdoptedSockets {
  if (descriptors.length === 0) return { warnOfUnused: () => undefined };
  let sockets: PassedSockets;
  try {
    sockets = new PassedSockets(openCalls(), descriptors);
  } catch (error) {
    log.warn(`passed sockets cannot be used: ${messageOf(error)}`);
    return { warnOfUnused: () => undefined };
  }
  adoptPassedSockets(sockets);
  for (const reason of sockets.unusable) log.warn(`passed socket ${reason}; it is not used`);
  return {
    warnOfUnused() {
      for (const socket of sockets.unused) {
        log.warn(`passed socket ${socket} is the address of no inbound, and not of [api]`);
      }
    },
  };
}
