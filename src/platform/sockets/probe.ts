import { isMainThread } from 'node:worker_threads';
import { messageOf } from '../../errors.ts';
import { openSystemCalls, type SystemCalls } from './bindings.ts';
import { checkCalls } from './check-calls.ts';
import { Descriptor } from './descriptor.ts';
import { SystemError } from './errno.ts';
import {
  AF_UNIX,
  EPOLLIN,
  EPOLL_CTL_ADD,
  NONBLOCK_CLOEXEC,
  SOCK_CLOEXEC,
  SOCK_STREAM,
} from './linux.ts';

/** The sockets that this process uses, and the reason. */
export type SocketProbe =
  | { readonly kind: 'kernel'; readonly calls: SystemCalls }
  | { readonly kind: 'node'; readonly reason: string };

/** The inputs of the probe besides the machine itself. */
export interface ProbeSurroundings {
  readonly platform: string;
  readonly arch: string;
  /** The value of `WEIR_IO`: `node` disables kernel sockets. */
  readonly wanted: string | undefined;
  /** Whether `WEIR_IO_CHECK` is `1`: each use of a descriptor is checked. */
  readonly check: boolean;
  readonly mainThread: boolean;
  readonly open: () => SystemCalls;
}

/** Returns the inputs of the probe in this process. */
export const surroundings = (): ProbeSurroundings => ({
  platform: process.platform,
  arch: process.arch,
  wanted: process.env['WEIR_IO'],
  check: process.env['WEIR_IO_CHECK'] === '1',
  mainThread: isMainThread,
  open: openSystemCalls,
});

/** Tests whether kernel sockets work here; never throws. Loads koffi, about 20 ms. */
export function probeSockets(around: ProbeSurroundings = surroundings()): SocketProbe {
  const unfit = unfitness(around);
  if (unfit !== undefined) return { kind: 'node', reason: unfit };
  try {
    const calls = around.open();
    tryEpoll(calls);
    return { kind: 'kernel', calls: around.check ? checkCalls(calls) : calls };
  } catch (error) {
    const cause = error instanceof Error && error.cause !== undefined ? error.cause : undefined;
    const detail = cause === undefined ? '' : `: ${messageOf(cause)}`;
    return { kind: 'node', reason: `${messageOf(error)}${detail}` };
  }
}

function unfitness({ platform, arch, wanted, mainThread }: ProbeSurroundings): string | undefined {
  if (wanted === 'node') return 'WEIR_IO=node';
  if (wanted !== undefined && wanted !== '' && wanted !== 'kernel') {
    return `WEIR_IO=${wanted} is neither "node" nor "kernel"`;
  }
  if (platform !== 'linux') return `kernel sockets need Linux, this is ${platform}`;
  if (arch !== 'x64' && arch !== 'arm64')
    return `kernel sockets need x64 or arm64, this is ${arch}`;
  // Terminating a worker while its loop watches the epoll descriptor would end the process.
  if (!mainThread) return 'kernel sockets are for the main thread';
  return undefined;
}

/**
 * Sends a byte through a socket pair, which must produce an event with the registered data: detects
 * seccomp, gVisor and other layouts.
 */
function tryEpoll(calls: SystemCalls): void {
  const must = (call: string, result: number): number => {
    if (result < 0) throw new SystemError(call, calls.errno());
    return result;
  };
  const memory = calls.memory(64);
  using epoll = new Descriptor(calls, must('epoll_create1', calls.epollCreate1(SOCK_CLOEXEC)));
  must('socketpair', calls.socketpair(AF_UNIX, SOCK_STREAM | NONBLOCK_CLOEXEC, 0, memory.at));
  using near = new Descriptor(calls, memory.bytes.readInt32LE(0));
  using far = new Descriptor(calls, memory.bytes.readInt32LE(4));
  const data = process.arch === 'x64' ? 1 : 2;
  memory.words.set([EPOLLIN, 0, 0, 0]);
  memory.words[data] = 0x5eed;
  memory.words[data + 1] = 0xfeed;
  must('epoll_ctl', calls.epollCtl(epoll.number, EPOLL_CTL_ADD, near.number, memory.at));
  memory.words.fill(0);
  must('send', calls.send(far.number, memory.at, 1, 0));
  const count = must('epoll_wait', calls.epollWait(epoll.number, memory.at, 2, 0));
  const { words } = memory;
  const isExpected = words[0] === EPOLLIN && words[data] === 0x5eed && words[data + 1] === 0xfeed;
  if (count !== 1 || !isExpected) throw new Error('epoll does not report what was registered');
  // The event loop must be able to watch the epoll descriptor.
  const watch = calls.watch(epoll.number, () => undefined);
  watch.unref();
  watch.close();
}
