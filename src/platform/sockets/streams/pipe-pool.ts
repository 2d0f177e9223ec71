import type { SystemCalls } from '../bindings.ts';
import { F_GETPIPE_SZ, F_SETPIPE_SZ, NONBLOCK_CLOEXEC } from '../linux.ts';
import type { NativeMemory } from '../../native-memory.ts';
import { Descriptor } from '../descriptor.ts';

/** Starts timers that do not keep the process alive. */
export interface Timers {
  after(milliseconds: number, callback: () => void): { cancel(): void };
}

/** Pipes at most, in use and idle. */
const MAX_PIPES = 128;
/**
 * Of a user other than root only the first ones are large: that user gets 64 MB of pipes and then
 * only tiny ones (`pipe-user-pages-soft`), and the user's other programs want some as well: these
 * are 56 MB.
 */
const LARGE_PIPES = 32;
const LARGE_SIZE = 1 << 20;
const SMALL_SIZE = 256 << 10;
/** Below this, splicing costs more calls than copying through one buffer. */
const SMALLEST_SIZE = 64 << 10;
/** How long an idle pipe is kept, and how long the kernel is not asked again after a refusal. */
const IDLE_MS = 5_000;

/** A pipe that a direction of a flow holds while bytes are in it. */
export interface Pipe {
  readonly read: Descriptor;
  readonly write: Descriptor;
  /** Capacity in bytes. */
  readonly size: number;
}

/** The pipes of a thread, bounded in number; those that are idle are closed after a while. */
export class PipePool {
  readonly #calls: SystemCalls;
  readonly #timers: Timers;
  readonly #pair: NativeMemory;
  readonly #largePipes: number;
  readonly #idle: Pipe[] = [];
  #size = 0;
  #refused = false;
  /** The fewest idle pipes in this period: so many were not needed. */
  #spare = 0;
  #timer: { cancel(): void } | undefined;
  #closed = false;

  /** @param isRoot whether the kernel sets no bound to the pipes of this process. */
  constructor(calls: SystemCalls, timers: Timers, isRoot = process.geteuid?.() === 0) {
    this.#calls = calls;
    this.#timers = timers;
    this.#largePipes = isRoot ? MAX_PIPES : LARGE_PIPES;
    this.#pair = calls.memory(8);
  }

  /** Pipes that are open. */
  get size(): number {
    return this.#size;
  }

  /** An empty pipe, or `undefined`: then bytes are copied instead. */
  take(): Pipe | undefined {
    const pipe = this.#idle.pop();
    if (pipe) {
      this.#spare = Math.min(this.#spare, this.#idle.length);
      return pipe;
    }
    if (this.#size >= MAX_PIPES || this.#refused || this.#closed) return undefined;
    return this.#open();
  }

  /** Takes an empty pipe back. */
  give(pipe: Pipe): void {
    if (this.#closed) {
      this.discard(pipe);
      return;
    }
    this.#idle.push(pipe);
    this.#startTimer();
  }

  /** Closes a pipe that still holds bytes. */
  discard(pipe: Pipe): void {
    pipe.read.close();
    pipe.write.close();
    this.#size--;
  }

  /** Closes what is idle; pipes in use are closed when they come back. */
  close(): void {
    this.#closed = true;
    this.#timer?.cancel();
    this.#timer = undefined;
    for (const pipe of this.#idle.splice(0)) this.discard(pipe);
  }

  #open(): Pipe | undefined {
    const calls = this.#calls;
    if (calls.pipe2(this.#pair.at, NONBLOCK_CLOEXEC) !== 0) return this.#refuse();
    const read = new Descriptor(calls, this.#pair.bytes.readInt32LE(0));
    const write = new Descriptor(calls, this.#pair.bytes.readInt32LE(4));
    const isLarge =
      this.#size < this.#largePipes && calls.fcntl(write.number, F_SETPIPE_SZ, LARGE_SIZE) >= 0;
    // A root without privileges, as in a container, is refused what exceeds the bound.
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
