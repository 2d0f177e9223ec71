import { setImmediate as nextTurn } from 'node:timers/promises';
import { systemClock } from '@weir/io/time';
import {
  LinkWatchdog,
  type LostEvent,
} from '../../../packages/io/src/net/sockets/kernel/watchdog.ts';
import { openSystemCalls, type SystemCalls } from '@weir/io/service';
import {
  checkCalls,
  type CheckedCalls,
  probeSockets,
  probeEnvironment,
} from '../../../packages/io/src/platform/sockets/probe.ts';
import {
  AF_UNIX,
  EINTR,
  NONBLOCK_CLOEXEC,
  SOCK_STREAM,
} from '../../../packages/io/src/platform/sockets/linux.ts';
import { KernelIo } from '../../../packages/io/src/platform/sockets/kernel-io.ts';
import { StreamSocket } from '../../../packages/io/src/platform/sockets/streams/stream-socket.ts';

const probe = probeSockets({ ...probeEnvironment(), wanted: undefined, check: false });

/** Why tests of kernel sockets cannot run here; false where they can. */
export const noKernelSockets: string | false = probe.kind === 'kernel' ? false : probe.reason;

/** Kernel sockets in the debug mode: each use of a descriptor is checked. */
export function checkedIo(): { readonly io: KernelIo; readonly calls: CheckedCalls } {
  const calls = checkCalls(openSystemCalls());
  return { calls, io: new KernelIo(calls, systemClock) };
}

/** A watchdog that keeps what it reports. */
export function recordingWatchdog(): {
  readonly watchdog: LinkWatchdog;
  readonly lost: LostEvent[];
} {
  const lost: LostEvent[] = [];
  return { lost, watchdog: new LinkWatchdog(systemClock, (event) => lost.push(event)) };
}

const MOVING = ['recv', 'send', 'sendBytes', 'splice', 'sendmmsg', 'recvmmsg'] as const;

/** Calls of which every third one that moves bytes is interrupted by a signal: EINTR. */
export function interrupted(calls: SystemCalls): {
  readonly calls: SystemCalls;
  /** How many were, by call. */
  readonly interruptions: ReadonlyMap<string, number>;
} {
  const interruptions = new Map<string, number>();
  let isInterrupted = false;
  let count = 0;
  const moving = Object.fromEntries(
    MOVING.map((name) => {
      const call = calls[name] as (...values: never[]) => number;
      const either = (...values: never[]): number => {
        isInterrupted = count++ % 3 === 0;
        if (!isInterrupted) return call(...values);
        interruptions.set(name, (interruptions.get(name) ?? 0) + 1);
        return -1;
      };
      return [name, either];
    }),
  ) as unknown as Pick<SystemCalls, (typeof MOVING)[number]>;
  const errno = (): number => {
    const was = isInterrupted;
    isInterrupted = false;
    return was ? EINTR : calls.errno();
  };
  return { calls: { ...calls, ...moving, errno }, interruptions };
}

/** Two connected unix stream sockets. */
export function socketPair(io: KernelIo): readonly [StreamSocket, StreamSocket] {
  const [near, far] = descriptorPair(io);
  return [
    new StreamSocket(io, near, false, 'dialled'),
    new StreamSocket(io, far, false, 'dialled'),
  ];
}

/** Two connected unix stream descriptors. */
export function descriptorPair(io: KernelIo): readonly [number, number] {
  const result = io.calls.socketpair(AF_UNIX, SOCK_STREAM | NONBLOCK_CLOEXEC, 0, io.option.at);
  if (result !== 0) throw new Error('no socket pair');
  return [io.option.bytes.readInt32LE(0), io.option.bytes.readInt32LE(4)];
}

/** Waits for something that the event loop brings about. */
export async function until(condition: () => boolean): Promise<void> {
  while (!condition()) await nextTurn();
}
