import { isMainThread } from 'node:worker_threads';
import { NativeError } from '../native.ts';
import type { NativeMemory } from '../native-memory.ts';
import { type DescriptorHistory, type SystemCalls, openSystemCalls } from './bindings.ts';
import {
  F_DUPFD_CLOEXEC,
  AF_UNIX,
  EPOLLIN,
  EPOLL_CTL_ADD,
  NONBLOCK_CLOEXEC,
  SOCK_CLOEXEC,
  SOCK_STREAM,
} from './linux.ts';
import { messageOf } from '@weir/base';
import { Descriptor, SystemError } from './errno.ts';

/** Calls that are remembered per descriptor. */
const HISTORY = 24;

/** The error of using a descriptor after its owner closed it, or that was never opened here. */
export class DescriptorError extends NativeError {}

/** Calls whose first argument is a descriptor, which only has to be open. */
const USES = [
  'bind',
  'listen',
  'connect',
  'getsockopt',
  'setsockopt',
  'getsockname',
  'getpeername',
  'recv',
  'send',
  'sendBytes',
  'sendmsg',
  'recvmsg',
  'sendmmsg',
  'recvmmsg',
  'read',
  'write',
  'writev',
  'shutdown',
  'ioctl',
] as const;

/** The state of a descriptor's number in the debug mode. */
interface Life {
  open: boolean;
  readonly history: string[];
}

/** The calls of the debug mode. */
export interface CheckedCalls extends SystemCalls {
  readonly debug: DescriptorHistory;
}

/**
 * Checks that each descriptor is open when used, and keeps a short history of each number.
 *
 * For tests and the debug mode (`WEIR_IO_CHECK=1`): each call costs about a microsecond more. A call
 * with a closed descriptor throws a {@link DescriptorError} and never reaches the kernel.
 */
export function checkCalls(calls: SystemCalls): CheckedCalls {
  const lives = new Map<number, Life>();

  const note = (fd: number, text: string): void => {
    const life = lives.get(fd);
    if (!life) return;
    life.history.push(text);
    if (life.history.length > HISTORY) life.history.shift();
  };
  const opened = (fd: number, by: string): number => {
    if (fd < 0) return fd;
    const life = lives.get(fd) ?? { open: false, history: [] };
    life.open = true;
    lives.set(fd, life);
    note(fd, by);
    return fd;
  };
  const closed = (fd: number, by: string): void => {
    const life = lives.get(fd);
    if (!life?.open) throw misuse(by, fd);
    life.open = false;
    note(fd, by);
  };
  const misuse = (call: string, fd: number): DescriptorError => {
    const history = lives.get(fd)?.history.join(', ') ?? '';
    return new DescriptorError(`${call} with the descriptor ${fd}, which is not open: ${history}`);
  };
  const use = (fd: number, call: string): void => {
    if (!lives.get(fd)?.open) throw misuse(call, fd);
  };
  // Records only the result: errno may be read only by the caller.
  const record = (fd: number, call: string, result: number): number => {
    note(fd, `${call} ${result}`);
    return result;
  };
  const openedPair = (result: number, pair: NativeMemory | undefined, by: string): number => {
    if (result === 0 && pair) for (const at of [0, 4]) opened(pair.bytes.readInt32LE(at), by);
    return result;
  };

  /** Memory to which pairs of descriptors may be written, by address. */
  const memories = new Map<number, NativeMemory>();
  const uses = Object.fromEntries(
    USES.map((name) => {
      const call = calls[name] as (fd: number, ...rest: unknown[]) => number;
      const checked = (fd: number, ...rest: unknown[]): number => {
        use(fd, name);
        return record(fd, name, call(fd, ...rest));
      };
      return [name, checked];
    }),
  ) as Pick<SystemCalls, (typeof USES)[number]>;

  return {
    ...calls,
    ...uses,
    errno: () => calls.errno(),
    open: (path, flags) => opened(calls.open(path, flags), 'open'),
    socket: (domain, type, protocol) => opened(calls.socket(domain, type, protocol), 'socket'),
    socketpair: (domain, type, protocol, pair) =>
      openedPair(calls.socketpair(domain, type, protocol, pair), memories.get(pair), 'socketpair'),
    accept4: (fd, address, length, flags) => {
      use(fd, 'accept4');
      return opened(calls.accept4(fd, address, length, flags), 'accept4');
    },
    pipe2: (pair, flags) => openedPair(calls.pipe2(pair, flags), memories.get(pair), 'pipe2'),
    fcntl: (fd, command, argument) => {
      use(fd, 'fcntl');
      const result = calls.fcntl(fd, command, argument);
      return command === F_DUPFD_CLOEXEC ? opened(result, 'dup') : record(fd, 'fcntl', result);
    },
    splice: (from, fromOffset, to, toOffset, length, flags) => {
      use(from, 'splice');
      use(to, 'splice');
      const result = calls.splice(from, fromOffset, to, toOffset, length, flags);
      note(from, `splice out ${result}`);
      note(to, `splice in ${result}`);
      return result;
    },
    epollCreate1: (flags) => opened(calls.epollCreate1(flags), 'epoll_create1'),
    epollCtl: (epoll, operation, fd, event) => {
      use(epoll, 'epoll_ctl');
      use(fd, 'epoll_ctl');
      return record(fd, `epoll_ctl(${operation})`, calls.epollCtl(epoll, operation, fd, event));
    },
    epollWait: (epoll, events, count, timeout) => {
      use(epoll, 'epoll_wait');
      return calls.epollWait(epoll, events, count, timeout);
    },
    close: (fd) => {
      closed(fd, 'close');
      return calls.close(fd);
    },
    memory: (size) => {
      const memory = calls.memory(size);
      memories.set(memory.at, memory);
      return memory;
    },
    debug: {
      note,
      adopt: (fd) => void opened(fd, 'adopted'),
      disown: (fd) => closed(fd, 'handed over'),
      historyOf: (fd) => lives.get(fd)?.history ?? [],
      open: () => [...lives].filter(([, { open }]) => open).map(([fd]) => fd),
    },
  };
}

/** The sockets that this process uses, and the reason. */
type SocketProbe =
  | { readonly kind: 'kernel'; readonly calls: SystemCalls }
  | { readonly kind: 'node'; readonly reason: string };

/** The inputs of the probe besides the machine itself. */
export interface ProbeEnvironment {
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
export const probeEnvironment = (): ProbeEnvironment => ({
  platform: process.platform,
  arch: process.arch,
  wanted: process.env['WEIR_IO'],
  check: process.env['WEIR_IO_CHECK'] === '1',
  mainThread: isMainThread,
  open: openSystemCalls,
});

/** Tests whether kernel sockets work here; never throws. Loads koffi, about 20 ms. */
export function probeSockets(around: ProbeEnvironment = probeEnvironment()): SocketProbe {
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

function unfitness({ platform, arch, wanted, mainThread }: ProbeEnvironment): string | undefined {
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
