import type { IpEndpoint } from '@weir/base/ip';
import { type Koffi, loadKoffi } from '../addons.ts';
import { NativeError } from '../native.ts';
import { type NativeMemory, nativeMemory } from '../native-memory.ts';

/** A watch of libuv on a descriptor, for input. */
export interface LoopWatch {
  /** Makes the watch keep the process alive. */
  ref(): void;
  unref(): void;
  close(): void;
}

/**
 * The system calls of the socket layer. Addresses are plain numbers. Each returns the result of the
 * C function: -1 on failure, after which `errno()` must be the very next call.
 */
export interface SystemCalls {
  readonly errno: () => number;
  /** Opens an existing file. */
  readonly open: (path: string, flags: number) => number;
  readonly socket: (domain: number, type: number, protocol: number) => number;
  readonly socketpair: (domain: number, type: number, protocol: number, pair: number) => number;
  readonly bind: (fd: number, address: number, length: number) => number;
  readonly listen: (fd: number, backlog: number) => number;
  readonly accept4: (fd: number, address: number, length: number, flags: number) => number;
  readonly connect: (fd: number, address: number, length: number) => number;
  readonly getsockopt: (
    fd: number,
    level: number,
    name: number,
    value: number,
    length: number,
  ) => number;
  readonly setsockopt: (
    fd: number,
    level: number,
    name: number,
    value: number,
    length: number,
  ) => number;
  readonly getsockname: (fd: number, address: number, length: number) => number;
  readonly getpeername: (fd: number, address: number, length: number) => number;
  readonly recv: (fd: number, at: number, length: number, flags: number) => number;
  readonly send: (fd: number, at: number, length: number, flags: number) => number;
  /** Calls `send` with a typed array, which may be on the heap. */
  readonly sendBytes: (fd: number, bytes: Uint8Array, length: number, flags: number) => number;
  readonly sendmsg: (fd: number, message: number, flags: number) => number;
  readonly recvmsg: (fd: number, message: number, flags: number) => number;
  readonly sendmmsg: (fd: number, messages: number, count: number, flags: number) => number;
  readonly recvmmsg: (
    fd: number,
    messages: number,
    count: number,
    flags: number,
    timeout: number,
  ) => number;
  readonly read: (fd: number, at: number, length: number) => number;
  readonly write: (fd: number, at: number, length: number) => number;
  readonly writev: (fd: number, vector: number, count: number) => number;
  readonly shutdown: (fd: number, how: number) => number;
  readonly close: (fd: number) => number;
  readonly splice: (
    from: number,
    fromOffset: number,
    to: number,
    toOffset: number,
    length: number,
    flags: number,
  ) => number;
  readonly pipe2: (pair: number, flags: number) => number;
  readonly fcntl: (fd: number, command: number, argument: number) => number;
  readonly ioctl: (fd: number, request: number, argument: number) => number;
  readonly poll: (fds: number, count: number, timeout: number) => number;
  readonly getrlimit: (resource: number, limits: number) => number;
  readonly epollCreate1: (flags: number) => number;
  readonly epollCtl: (epoll: number, operation: number, fd: number, event: number) => number;
  readonly epollWait: (epoll: number, events: number, count: number, timeout: number) => number;
  /** Returns the index of a network interface; 0 for an unknown name. */
  readonly ifNameToIndex: (name: string) => number;
  /** Writes the name of an interface (at most 16 bytes) to `name`; returns 0 for an unknown index. */
  readonly ifIndexToName: (index: number, name: number) => number;
  /** Allocates memory whose address can be passed to the calls. */
  readonly memory: (size: number) => NativeMemory;
  /**
   * The address of the first byte, valid while the underlying memory lives: memory outside the heap never moves, and
   * this call moves a small array off the heap.
   */
  readonly addressOf: (bytes: Uint8Array) => number;
  /** Watches a descriptor in the event loop of this thread; `onReadable` must not throw. */
  readonly watch: (fd: number, onReadable: () => void) => LoopWatch;
  /** The history of descriptors in the debug mode; see `checkCalls`. */
  readonly debug?: DescriptorHistory | undefined;
}

/** The recent calls with each descriptor, in the debug mode. */
export interface DescriptorHistory {
  /** Adds an entry to the history of a descriptor. */
  note(fd: number, text: string): void;
  /** Registers a descriptor that was opened elsewhere and is closed here. */
  adopt(fd: number): void;
  /** Unregisters a descriptor that another owner will close. */
  disown(fd: number): void;
  /** Returns the last calls with a descriptor's number, including earlier owners; oldest first. */
  historyOf(fd: number): readonly string[];
  /** Returns the open descriptors. */
  open(): readonly number[];
}

/**
 * Binds the calls; takes about 10 ms, including loading koffi.
 * @throws {NativeError} if koffi has no binary for this machine, or a function is missing.
 */
export function openSystemCalls(): SystemCalls {
  try {
    return bindCalls(loadKoffi());
  } catch (error) {
    throw new NativeError('the system calls for sockets are not available', { cause: error });
  }
}

function bindCalls(native: Koffi): SystemCalls {
  const library = native.load(null);
  const bind = (definition: string) => library.func(definition);
  // Pointers and `size_t` are passed in the same registers. Results of type ssize_t are at most 2
  // GB, and are declared as `int64_t`, which koffi returns as a number.
  const ssize = 'int64_t';
  const addressOf = (bytes: Uint8Array): number => Number(native.address(bytes));
  return {
    errno: () => native.errno(),
    // Variadic in C; no mode argument, because no file is created.
    open: bind('int open(const char *, int)'),
    socket: bind('int socket(int, int, int)'),
    socketpair: bind('int socketpair(int, int, int, size_t)'),
    bind: bind('int bind(int, size_t, unsigned int)'),
    listen: bind('int listen(int, int)'),
    accept4: bind('int accept4(int, size_t, size_t, int)'),
    connect: bind('int connect(int, size_t, unsigned int)'),
    getsockopt: bind('int getsockopt(int, int, int, size_t, size_t)'),
    setsockopt: bind('int setsockopt(int, int, int, size_t, unsigned int)'),
    getsockname: bind('int getsockname(int, size_t, size_t)'),
    getpeername: bind('int getpeername(int, size_t, size_t)'),
    recv: bind(`${ssize} recv(int, size_t, size_t, int)`),
    send: bind(`${ssize} send(int, size_t, size_t, int)`),
    sendBytes: bind(`${ssize} send(int, const uint8_t *, size_t, int)`),
    sendmsg: bind(`${ssize} sendmsg(int, size_t, int)`),
    recvmsg: bind(`${ssize} recvmsg(int, size_t, int)`),
    sendmmsg: bind('int sendmmsg(int, size_t, unsigned int, int)'),
    recvmmsg: bind('int recvmmsg(int, size_t, unsigned int, int, size_t)'),
    read: bind(`${ssize} read(int, size_t, size_t)`),
    write: bind(`${ssize} write(int, size_t, size_t)`),
    writev: bind(`${ssize} writev(int, size_t, int)`),
    shutdown: bind('int shutdown(int, int)'),
    close: bind('int close(int)'),
    splice: bind(`${ssize} splice(int, size_t, int, size_t, size_t, unsigned int)`),
    pipe2: bind('int pipe2(size_t, int)'),
    // Variadic in C; on both supported machines an integer argument is passed like a fixed one.
    fcntl: bind('int fcntl(int, int, size_t)'),
    ioctl: bind('int ioctl(int, unsigned long, size_t)'),
    poll: bind('int poll(size_t, unsigned long, int)'),
    getrlimit: bind('int getrlimit(int, size_t)'),
    epollCreate1: bind('int epoll_create1(int)'),
    epollCtl: bind('int epoll_ctl(int, int, int, size_t)'),
    epollWait: bind('int epoll_wait(int, size_t, int, int)'),
    ifNameToIndex: bind('unsigned int if_nametoindex(const char *)'),
    ifIndexToName: bind('size_t if_indextoname(unsigned int, size_t)'),
    memory: (size) => nativeMemory(size, addressOf),
    addressOf,
    // The handle must stay referenced: its collection ends the watch.
    watch: (fd, onReadable) => native.node.poll(fd, onReadable),
  };
}

/** The index for which the kernel chooses the device. */
export const ANY_DEVICE = 0;
/** The result if no device may be used. */
export const NO_DEVICE = -1;

/**
 * Chooses the devices through which sockets of this process send, to bypass routes of its own
 * devices.
 */
export interface DeviceChoice {
  /**
   * Returns the device for a destination. Never throws.
   * @param destination its port is ignored.
   * @returns the index of an interface, ANY_DEVICE or NO_DEVICE.
   */
  deviceFor(destination: IpEndpoint): number;
  /**
   * Whether this process itself serves an address and port for other programs: its own sockets must
   * not connect there, or it would wait for itself.
   */
  answersItself(destination: IpEndpoint): boolean;
}
