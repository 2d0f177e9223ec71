import type { SystemCalls } from '../bindings.ts';
import { F_GETPIPE_SZ, F_SETPIPE_SZ, NONBLOCK_CLOEXEC } from '../linux.ts';
import type { NativeMemory } from '../../native-memory.ts';
import { Descriptor } from '../errno.ts';
import { kernelSetting } from '../socket-options.ts';

/** Timers that do not keep the process alive. */
export interface Timers {
  after(milliseconds: number, callback: () => void): { cancel(): void };
}

/** The most pipes in use and idle together. */
const MAX_PIPES = 128;
/**
 * Large pipes of a user other than root: the kernel grants a user 64 MB of pipes and then only tiny
 * ones (`pipe-user-pages-soft`). This leaves some for the user's other programs.
 */
const LARGE_PIPES = 32;
const LARGE_SIZE = 1 << 20;
const SMALL_SIZE = 256 << 10;
/** Bytes of capacity below which splicing takes more calls than copying through one buffer. */
const SMALLEST_SIZE = 64 << 10;
/** Milliseconds for which an idle pipe is kept, and for which no pipe is requested after a refusal. */
const IDLE_MS = 5_000;

/**
 * Bytes that the destinations of all pipes together may hold unsent, and the number of pipes from which on that is so.
 *
 * The kernel lets a socket hold `tcp_wmem`, 4 MB. What 64 of them hold has left the cache of the processor when it is
 * sent, which then takes twice as long. Fewer are not bounded: the sender would only wake up more often.
 */
const UNSENT_BYTES = 32 << 20;
const MANY_PIPES = 16;
/** The system's own bound of what a connection holds unsent (tcp(7)). */
const UNSENT_FILE = '/proc/sys/net/ipv4/tcp_notsent_lowat';

/** A pipe, held by a direction of a flow while it contains bytes. */
export interface Pipe {
  readonly read: Descriptor;
  readonly write: Descriptor;
  /** Capacity in bytes. */
  readonly size: number;
}

/** The pipes of a thread, limited in number; idle ones are closed after a while. */
export class PipePool {
  readonly #calls: SystemCalls;
  readonly #timers: Timers;
  readonly #pair: NativeMemory;
  readonly #largePipes: number;
  readonly #hasRoom: () => boolean;
  readonly #systemUnsent: number;
  readonly #idle: Pipe[] = [];
  #size = 0;
  #refused = false;
  /** The smallest number of idle pipes in this period, which were not needed. */
  #spare = 0;
  #timer: { cancel(): void } | undefined;
  #closed = false;

  /**
   * @param isRoot whether the pipes of this process are unlimited by the kernel.
   * @param hasRoom returns whether two more descriptors may be opened.
   * @param systemUnsent the system's own bound of what a connection holds unsent, in bytes.
   */
  constructor(
    calls: SystemCalls,
    timers: Timers,
    isRoot = process.geteuid?.() === 0,
    hasRoom = () => true,
    systemUnsent = kernelSetting(UNSENT_FILE) ?? Infinity,
  ) {
    this.#calls = calls;
    this.#hasRoom = hasRoom;
    this.#systemUnsent = systemUnsent;
    this.#timers = timers;
    this.#largePipes = isRoot ? MAX_PIPES : LARGE_PIPES;
    this.#pair = calls.memory(8);
  }

  /** Number of open pipes. */
  get size(): number {
    return this.#size;
  }

  /** Bytes that the destination of a pipe may hold unsent; 0 where the system's bound is to hold. */
  get unsentBytes(): number {
    if (this.#size < MANY_PIPES) return 0;
    const bytes = Math.floor(UNSENT_BYTES / this.#size);
    return bytes < this.#systemUnsent ? bytes : 0;
  }

  /** Takes an empty pipe; `undefined` if none is available, and bytes must be copied instead. */
  take(): Pipe | undefined {
    const pipe = this.#idle.pop();
    if (pipe) {
      this.#spare = Math.min(this.#spare, this.#idle.length);
      return pipe;
    }
    if (this.#size >= MAX_PIPES || this.#refused || this.#closed) return undefined;
    return this.#open();
  }

  /** Returns an empty pipe to the pool. */
  give(pipe: Pipe): void {
    if (this.#closed) {
      this.discard(pipe);
      return;
    }
    this.#idle.push(pipe);
    this.#startTimer();
  }

  /** Closes a pipe that contains bytes. */
  discard(pipe: Pipe): void {
    pipe.read.close();
    pipe.write.close();
    this.#size--;
  }

  /** Closes idle pipes; those in use are closed when they are returned. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const pipe of this.#idle.splice(0)) this.discard(pipe);
  }

  #open(): Pipe | undefined {
    const calls = this.#calls;
    if (!this.#hasRoom()) return this.#refuse();
    if (calls.pipe2(this.#pair.at, NONBLOCK_CLOEXEC) !== 0) return this.#refuse();
    const read = new Descriptor(calls, this.#pair.bytes.readInt32LE(0));
    const write = new Descriptor(calls, this.#pair.bytes.readInt32LE(4));
    const isLarge =
      this.#size < this.#largePipes && calls.fcntl(write.number, F_SETPIPE_SZ, LARGE_SIZE) >= 0;
    // Root without privileges, as in a container, is subject to the limit.
    if (!isLarge) calls.fcntl(write.number, F_SETPIPE_SZ, SMALL_SIZE);
    const size = calls.fcntl(write.number, F_GETPIPE_SZ, 0);
    if (size < SMALLEST_SIZE) {
      read.close();
      write.close();
      return this.#refuse();
    }
    this.#size++;
    return { read, write, size };
  }

  #refuse(): undefined {
    this.#refused = true;
    this.#startTimer();
    return undefined;
  }

  #startTimer(): void {
    this.#timer ??= this.#timers.after(IDLE_MS, this.#onPeriod);
  }

  readonly #onPeriod = (): void => {
    this.#timer = undefined;
    this.#refused = false;
    // The oldest ones are at the front.
    for (const pipe of this.#idle.splice(0, this.#spare)) this.discard(pipe);
    this.#spare = this.#idle.length;
    if (this.#idle.length > 0) this.#startTimer();
  };
}
