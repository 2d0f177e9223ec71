import { statSync } from 'node:fs';
import type { SystemCalls } from './bindings.ts';
import { F_DUPFD_CLOEXEC, RLIMIT_NOFILE } from './linux.ts';
import type { NativeMemory } from '../native-memory.ts';

/** Which side opened the connection of a socket. */
export type SocketOrigin = 'accepted' | 'dialled';

type RoomCalls = Pick<SystemCalls, 'getrlimit' | 'fcntl' | 'close' | 'memory'>;

/** With as many free, the kernel is not asked about each connection. */
const PLENTY = 1024;
/** Sockets that may be opened before the kernel is asked again. */
const OPENED_UNASKED = 64;
/** Descriptors that the opening of a socket stands for: pipes of its flow, and files of others. */
const A_SOCKET = 8;

/** How many descriptors can still be opened, so that what is accepted can also be served. */
export class DescriptorRoom {
  readonly #calls: RoomCalls;
  readonly #limits: NativeMemory;
  readonly #countOpen: () => number;
  #accepted = 0;
  #dialled = 0;
  /** Descriptors that were free when the kernel was asked, at most, less what was opened since. */
  #known = 0;

  /** @param countOpen gives the number of open descriptors, 0 where it is not known. */
  constructor(calls: RoomCalls, countOpen: () => number = openDescriptors) {
    this.#calls = calls;
    this.#countOpen = countOpen;
    this.#limits = calls.memory(16);
  }

  /**
   * Descriptors that accepted connections are going to need for their destinations: one for each
   * connection, until as many have been dialled. Which was dialled for which is not known here.
   */
  get reserved(): number {
    return Math.max(0, this.#accepted - this.#dialled);
  }

  /**
   * Descriptors that can be opened beside those reserved; fewer than there are while there are plenty.
   *
   * @param fd any open descriptor; older kernels do not count, and there it is duplicated in order
   *   to find out whether two more are free.
   */
  free(fd: number): number {
    const known = this.#known - this.reserved;
    if (known >= PLENTY) return known;
    const limit = this.#limit();
    const open = this.#countOpen();
    if (open > 0) {
      this.#known = Math.min(limit - open, PLENTY + OPENED_UNASKED * A_SOCKET);
      return limit - open - this.reserved;
    }
    return this.#hasTwo(fd) ? 2 : 0;
  }

  /** Counts a socket that was opened. */
  opened(origin: SocketOrigin): void {
    this.#known -= A_SOCKET;
    if (origin === 'accepted') this.#accepted++;
    else this.#dialled++;
  }

  /** Counts a socket that was closed or handed over. */
  closed(origin: SocketOrigin): void {
    if (origin === 'accepted') this.#accepted--;
    else this.#dialled--;
  }

  /** The soft limit, which `prlimit` can change at any time. */
  #limit(): number {
    if (this.#calls.getrlimit(RLIMIT_NOFILE, this.#limits.at) !== 0) return 0;
    const limit = this.#limits.bytes.readBigUInt64LE(0);
    return limit > 0xffff_ffffn ? 0xffff_ffff : Number(limit);
  }

  #hasTwo(fd: number): boolean {
    const first = this.#calls.fcntl(fd, F_DUPFD_CLOEXEC, 0);
    if (first < 0) return false;
    const second = this.#calls.fcntl(fd, F_DUPFD_CLOEXEC, 0);
    this.#calls.close(first);
    if (second < 0) return false;
    this.#calls.close(second);
    return true;
  }
}

/** Since Linux 6.2 the size of this folder is the number of open descriptors; 0 before. */
function openDescriptors(): number {
  return statSync('/proc/self/fd', { throwIfNoEntry: false })?.size ?? 0;
}
