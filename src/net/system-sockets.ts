import { KernelIo } from '../platform/sockets/kernel-io.ts';
import { probeSockets } from '../platform/sockets/probe.ts';
import { messageOf } from '../errors.ts';
import { systemClock } from './clock.ts';
import { kernelSockets } from './kernel/kernel-sockets.ts';
import { LinkWatchdog, type LostEvent } from './kernel/watchdog.ts';
import { nodeSockets } from './node/node-sockets.ts';
import type { Sockets } from './sockets.ts';

let chosen: Sockets | undefined;

/**
 * The sockets of this thread, like `systemClock` a property of the process and not of any part of
 * it: one epoll instance serves a thread's event loop. Chosen on first use, since the probe loads
 * native code.
 */
export const systemSockets = (): Sockets => (chosen ??= choose());

function choose(): Sockets {
  const probe = probeSockets();
  if (probe.kind === 'node') return nodeSockets(probe.reason);
  try {
    const io = new KernelIo(probe.calls, systemClock);
    return kernelSockets(io, probe.calls.debug ? new LinkWatchdog(systemClock, raise) : undefined);
  } catch (error) {
    return nodeSockets(messageOf(error));
  }
}

/** In the debug mode a lost event is a defect that no test may overlook. */
function raise(lost: LostEvent): void {
  throw new Error(`an event of a socket was lost: ${JSON.stringify(lost)}`);
}
