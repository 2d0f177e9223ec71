import { statSync } from 'node:fs';
import type { SystemCalls } from './bindings.ts';
import { F_DUPFD_CLOEXEC, RLIMIT_NOFILE } from './linux.ts';
import type { NativeMemory } from './memory.ts';

/** How many descriptors can still be opened, so that what is accepted can also be served. */
export class DescriptorRoom {
  readonly #calls: SystemCalls;
  readonly #limits: NativeMemory;
  readonly #countOpen: () => number;
  #reserved = 0;

  /** @param countOpen gives the number of open descriptors, 0 where it is not known. */
  constructor(calls: SystemCalls, countOpen: () => number = openDescriptors) {
    this.#calls = calls;
    this.#countOpen = countOpen;
    this.#limits = calls.memory(16);
  }

  /** Reservations that have not been released. */
  get reserved(): number {
    return this.#reserved;
  }

  /**
   * Descriptors that can be opened beside those reserved.
   *
   * @param fd any open descriptor; older kernels do not count, and there it is duplicated in order
   *   to find out whether two more are free.
   */
  free(fd: number): number {
    const limit = this.#limit();
    const open = this.#countOpen();
    if (open > 0) return limit - open - this.#reserved;
    return this.#hasTwo(fd) ? 2 : 0;
  }

  /** Reserves the descriptor that an accepted connection is going to need for its destination. */
  reserve(): void {
    this.#reserved++;
  }

  /** Ends one reservation. */
  release(): void {
    this.#reserved--;
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
