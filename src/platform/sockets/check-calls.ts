import { NativeError } from '../native.ts';
import type { DescriptorHistory, SystemCalls } from './bindings.ts';
import { F_DUPFD_CLOEXEC } from './linux.ts';
import type { NativeMemory } from '../native-memory.ts';

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
