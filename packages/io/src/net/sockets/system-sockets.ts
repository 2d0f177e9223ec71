import { systemClock } from '../time/clock.ts';
import { kernelSockets, openKernelIo } from './kernel/kernel-sockets.ts';
import { LinkWatchdog, type LostEvent } from './kernel/watchdog.ts';
import { nodeSockets } from './node/node-sockets.ts';
import type { Sockets } from './sockets.ts';

let chosen: Sockets | undefined;

/**
 * Returns the sockets of this thread; like `systemClock`, they belong to the process and not to a part of it: one epoll
 * instance serves a thread's event loop. Chosen on first use, since the probe loads native code.
 */
export const systemSockets = (): Sockets => (chosen ??= choose());

function choose(): Sockets {
  const { io, reason } = openKernelIo();
  if (!io) return nodeSockets(reason);
  return kernelSockets(io, io.calls.debug ? new LinkWatchdog(systemClock, raise) : undefined);
}

/** Throws: in the debug mode a lost event is a defect that every test has to notice. */
function raise(lost: LostEvent): void {
  throw new Error(`an event of a socket was lost: ${JSON.stringify(lost)}`);
}
