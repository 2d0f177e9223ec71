import { statSync } from 'node:fs';
import type { SystemCalls } from './bindings.ts';
import { F_DUPFD_CLOEXEC, RLIMIT_NOFILE } from './linux.ts';
import type { NativeMemory } from '../native-memory.ts';

/** The kind of a socket: a stream that was accepted or dialled, or a datagram socket. */
export type SocketOrigin = 'accepted' | 'dialled' | 'datagrams';

type RoomCalls = Pick<SystemCalls, 'getrlimit' | 'fcntl' | 'close' | 'memory'>;

/** Number of descriptors free for clients above which the kernel is not queried for each connection. */
const PLENTY = 1024;
/** Sockets that may be opened between two queries of the kernel. */
const OPENED_UNASKED = 64;
/** Descriptors that are counted for one socket: it, pipes of its flow, and other files. */
const A_SOCKET = 8;
/**
 * The share of all descriptors that is reserved from UDP associations, for accepted connections, dials and DNS queries;
 * `MOST_RESERVED` is its maximum.
 */
const RESERVED_PART = 1 / 4;
const MOST_RESERVED = 4096;
/**
 * The share that is reserved from the connections of a device, for all other uses, with its maximum: a device
 * accepts no descriptors, so its dials are not limited like those of listeners.
 */
const LEFT_BY_DIALS_PART = 1 / 16;
const MOST_LEFT_BY_DIALS = 1024;
/**
 * The share that is reserved for the operator, with its minimum and maximum: API, control socket, log, files
 * that a reload reads, DNS queries.
 */
const OPERATOR_PART = 1 / 16;
const LEAST_FOR_OPERATOR = 8;
const MOST_FOR_OPERATOR = 64;
/**
 * Assumed number of other descriptors, such as pipes and files, if the kernel does not report a
 * count.
 */
const UNCOUNTED = 512;

/** Tracks the number of descriptors that can still be opened, so that accepted connections can also be served. */
export class DescriptorRoom {
  readonly #calls: RoomCalls;
  readonly #limits: NativeMemory;
  readonly #countOpen: () => number;
  readonly #open: Record<SocketOrigin, number> = { accepted: 0, dialled: 0, datagrams: 0 };
  /** Upper bound of the descriptors that were free at the last query, minus those opened since. */
  #known = 0;
  /** Number of UDP associations, and of dials of devices, that may be opened before the next query. */
  readonly #unasked = { association: 0, dial: 0 };

  /** @param countOpen returns the number of open descriptors, 0 if unknown. */
  constructor(calls: RoomCalls, countOpen: () => number = openDescriptors) {
    this.#calls = calls;
    this.#countOpen = countOpen;
    this.#limits = calls.memory(16);
  }

  /**
   * Number of descriptors that accepted connections will need for their destinations: one each, minus the number of
   * dialled connections. Pairs are not tracked.
   */
  get reserved(): number {
    return Math.max(0, this.#open.accepted - this.#open.dialled);
  }

  /**
   * Returns the number of descriptors that can be opened for clients besides the reserved ones; a lower bound while
   * there are plenty.
   * @param fd any open descriptor; on older kernels, which report no count, it is duplicated to test whether two more
   * are free.
   */
  free(fd: number): number {
    const known = this.#known - this.reserved;
    if (known >= PLENTY) return known;
    const limit = this.#limit();
    const open = this.#countOpen();
    if (open > 0) {
      const left = limit - open - forOperator(limit);
      this.#known = Math.min(left, PLENTY + OPENED_UNASKED * A_SOCKET);
      return left - this.reserved;
    }
    return this.#hasTwo(fd) ? 2 : 0;
  }

  /**
   * Whether `count` descriptors can be opened without those of the operator, ignoring those that accepted connections
   * will need for their destinations. True if the kernel reports no count.
   */
  has(count: number): boolean {
    if (this.#known >= PLENTY) return true;
    const limit = this.#limit();
    const open = this.#countOpen();
    if (open === 0) return true;
    const left = limit - open - forOperator(limit);
    this.#known = Math.min(left, PLENTY + OPENED_UNASKED * A_SOCKET);
    return left >= count;
  }

  /** Whether half of the operator's descriptors are free: enough to accept a connection and examine it. */
  get mayLook(): boolean {
    const limit = this.#limit();
    const open = this.#countOpen();
    return open > 0 && limit - open > forOperator(limit) / 2;
  }

  /**
   * Whether a descriptor can be used for a UDP association, of which clients may open any number,
   * without using the reserve for other purposes.
   */
  takeForAssociation(): boolean {
    return this.#take('association', RESERVED_PART, MOST_RESERVED);
  }

  /** Whether a descriptor can be used for the destination of a device's connection, with a smaller reserve. */
  takeForDial(): boolean {
    return this.#take('dial', LEFT_BY_DIALS_PART, MOST_LEFT_BY_DIALS);
  }

  /** Number of descriptors that the process may have open. */
  get limit(): number {
    return this.#limit();
  }

  #take(kind: 'association' | 'dial', part: number, most: number): boolean {
    const unasked = this.#unasked;
    if (unasked[kind] === 0) {
      const limit = this.#limit();
      const { accepted, dialled, datagrams } = this.#open;
      const open = this.#countOpen() || accepted + dialled + datagrams + UNCOUNTED;
      const left = limit - open - Math.min(Math.floor(limit * part), most) - this.reserved;
      // Other code opens descriptors meanwhile, so only a part is granted without a query.
      unasked[kind] = Math.min(OPENED_UNASKED, Math.max(0, Math.ceil(left / A_SOCKET)));
      if (unasked[kind] === 0) return false;
    }
    unasked[kind]--;
    return true;
  }

  /** Counts a socket that was opened. */
  opened(origin: SocketOrigin): void {
    this.#known -= A_SOCKET;
    this.#open[origin]++;
  }

  /** Counts a socket that was closed or transferred. */
  closed(origin: SocketOrigin): void {
    this.#open[origin]--;
  }

  /** Returns the soft limit of descriptors, which `prlimit` can change at any time. */
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

const forOperator = (limit: number): number =>
  Math.min(MOST_FOR_OPERATOR, Math.max(LEAST_FOR_OPERATOR, Math.floor(limit * OPERATOR_PART)));

/**
 * Returns the number of descriptors that this process has open; 0 if unknown. Since Linux 6.2 the size of this
 * directory is their number: reading it costs some 10 ms with 16,000 of them, its size nothing.
 */
export function openDescriptors(): number {
  return statSync('/proc/self/fd', { throwIfNoEntry: false })?.size ?? 0;
}
