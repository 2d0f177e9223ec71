import { messageOf } from '../../../errors.ts';
import { KernelIo } from '../../../platform/sockets/kernel-io.ts';
import {
  probeSockets,
  surroundings,
  type ProbeSurroundings,
} from '../../../platform/sockets/probe.ts';
import { systemClock } from '../../time/clock.ts';

/** The kernel sockets of this thread, or the reason why Node's are used. */
export type OpenedIo =
  | { readonly kind: 'kernel'; readonly io: KernelIo; readonly reason?: undefined }
  | { readonly kind: 'node'; readonly io?: undefined; readonly reason: string };

/**
 * Opens the kernel sockets of this thread, once for a process; never throws. The caller
 * closes them, or leaves that to the end of the process.
 */
export function openKernelIo(around: ProbeSurroundings = surroundings()): OpenedIo {
  const probe = probeSockets(around);
  if (probe.kind === 'node') return probe;
  try {
    return { kind: 'kernel', io: new KernelIo(probe.calls, systemClock) };
  } catch (error) {
    return { kind: 'node', reason: messageOf(error) };
  }
}
