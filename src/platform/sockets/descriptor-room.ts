import { statSync } from 'node:fs';
import type { SystemCalls } from './bindings.ts';
import { F_DUPFD_CLOEXEC, RLIMIT_NOFILE } from './linux.ts';
import type { NativeMemory } from '../native-memory.ts';

/** What a socket is: a stream, by the side that opened its connection, or one for datagrams. */
export type SocketOrigin = 'accepted' | 'dialled' | 'datagrams';

type RoomCalls = Pick<SystemCalls, 'getrlimit' | 'fcntl' | 'close' | 'memory'>;

/** With as many free, the kernel is not asked about each connection. */
const PLENTY = 1024;
/** Sockets that may be opened before the kernel is asked again. */
const OPENED_UNASKED = 64;
/** Descriptors that the opening of a socket stands for: pipes of its flow, and files of others. */
const A_SOCKET = 8;
/**
 * The part of all descriptors that UDP associations leave to accepted connections, dials and questions of
 * DNS, and how many that are at most.
 */
const RESERVED_PART = 1 / 4;
const MOST_RESERVED = 4096;
/**
 * The part that the connections of a device leave to everything else, and how many that are at most: a device
 * accepts no descriptors, so that nothing holds its dials back as listeners are held back.
 */
const LEFT_BY_DIALS_PART = 1 / 16;
const MOST_LEFT_BY_DIALS = 1024;
/** Descriptors that are not counted here, such as pipes and files, where the kernel does not count. */
const UNCOUNTED = 512;

/** How many descriptors can still be opened, so that what is accepted can also be served. */
export class DescriptorRoom {
  readonly #calls: RoomCalls;
  readonly #limits: NativeMemory;
  readonly #countOpen: () => number;
  readonly #open: Record<SocketOrigin, number> = { accepted: 0, dialled: 0, datagrams: 0 };
  /** Descriptors that were free when the kernel was asked, at most, less what was opened since. */
  #known = 0;
  /** UDP associations, and dials of devices, that may be opened before the kernel is asked again. */
  readonly #unasked = { association: 0, dial: 0 };

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
    return Math.max(0, this.#open.accepted - this.#open.dialled);
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

  /**
   * Whether a descriptor can be taken for a UDP association, of which clients may open any number: with it
   * the reserve for everything else is still free.
   */
  takeForAssociation(): boolean {
    return this.#take('association', RESERVED_PART, MOST_RESERVED);
  }

  /** The same for the destination of a connection that came by a device, with a smaller reserve. */
  takeForDial(): boolean {
    return this.#take('dial', LEFT_BY_DIALS_PART, MOST_LEFT_BY_DIALS);
  }

  /** Descriptors that the process may have open. */
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
      // Others open descriptors meanwhile, so that not all that is left is given away unasked.
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

  /** Counts a socket that was closed or handed over. */
  closed(origin: SocketOrigin): void {
    this.#open[origin]--;
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
