import { Fifo } from '@weir/base/collections';
import type { NativeMemory } from '../native-memory.ts';
import type { LoopWatch, SystemCalls } from './bindings.ts';
import { Descriptor, SystemError } from './errno.ts';
import { EEXIST, EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, SOCK_CLOEXEC } from './linux.ts';

/** The smallest budget of a turn in bytes: one read of one socket. */
const LEAST_BYTES = 64 << 10;
/** The budget of a turn after quiet ones, in bytes. */
const FIRST_BYTES = 128 << 10;
/** The largest budget of a turn in bytes: about 2 ms of copying. */
const MOST_BYTES = 4 << 20;
/** Milliseconds that a turn should take at most, with the work that its bytes cause. */
const TURN_MS = 10;

/** Clocks in milliseconds. */
interface TurnClocks {
  /** Returns the time of a monotonic clock. */
  readonly now: () => number;
  /** Returns the processor time of this thread. */
  readonly processor: () => number;
}

const CLOCKS: TurnClocks = {
  now: () => performance.now(),
  processor: () => {
    const { user, system } = process.threadCpuUsage();
    return (user + system) / 1000;
  },
};

/**
 * The bytes that all sockets together may move in one turn of the event loop before timers, the control API and Node's
 * sockets run.
 *
 * Relays copy gigabytes per second, but peers can send data that costs a hundred times as much to read, over many
 * connections at once. A turn may therefore move twice as much as the previous one if that was quick, as long as there
 * is as much to move, and less after one that took too long.
 */
export class TurnBudget {
  readonly #clocks: TurnClocks;
  #most = FIRST_BYTES;
  #left = FIRST_BYTES;
  #startedAt = 0;
  /** Processor time at the start of the turn, if the turn may move much. */
  #processorAt: number | undefined;

  constructor(clocks: TurnClocks = CLOCKS) {
    this.#clocks = clocks;
  }

  /** Whether more bytes may be moved in this turn. */
  get mayMove(): boolean {
    return this.#left > 0;
  }

  /** Begins a turn. */
  begin(): void {
    this.#left = this.#most;
    this.#startedAt = this.#clocks.now();
    // Costs 1 us, which only turns of many bytes are worth.
    this.#processorAt = this.#most > FIRST_BYTES ? this.#clocks.processor() : undefined;
  }

  /** Lets one more socket move bytes in this turn. */
  allow(): void {
    if (this.#left <= 0) this.#left = 1;
  }

  /** Counts bytes that were moved in this turn. */
  move(bytes: number): void {
    this.#left -= bytes;
  }

  /** Called when all work caused by the bytes of a turn is done. */
  end(): void {
    const moved = this.#most - this.#left;
    const took = this.#took();
    if (took <= TURN_MS) {
      const wanted = Math.max(FIRST_BYTES, 2 * moved);
      this.#most = Math.min(2 * this.#most, wanted, MOST_BYTES);
    } else if (moved >= LEAST_BYTES) {
      this.#most = Math.max(LEAST_BYTES, moved * (TURN_MS / took));
    }
  }

  /**
   * Returns the milliseconds that the turn took. A relay that waits for the processor is not slow: only processor time
   * counts.
   */
  #took(): number {
    const elapsed = this.#clocks.now() - this.#startedAt;
    if (elapsed <= TURN_MS || this.#processorAt === undefined) return elapsed;
    return Math.min(elapsed, this.#clocks.processor() - this.#processorAt);
  }
}

/** Handles the readiness of a descriptor. */
export interface Readiness {
  /** Called when the descriptor is ready. @param events the bits of `EPOLLIN` and so on. */
  ready(events: number): void;
}

/** Work that is continued in a later turn. */
export interface Resumable {
  resume(): void;
}

/**
 * Bytes that a socket may have moved since it was last idle and still have precedence over busy ones: conversations and
 * handshakes wait for a turn, not for a round of all bulk transfers. The work that the bytes of these cause is unknown
 * here.
 */
export const LIGHT_BYTES = 16 << 10;

/**
 * The most events of one call. The rest stays in the kernel until the next turn: each may begin or end a flow, which
 * takes a tenth of a millisecond.
 */
const BATCH = 128;

/** `struct epoll_event` in words: packed on x64 only (include/uapi/linux/eventpoll.h). */
const layout =
  process.arch === 'x64' ? ({ words: 3, data: 1 } as const) : ({ words: 4, data: 2 } as const);

/**
 * An epoll instance inside the event loop of this thread.
 *
 * libuv watches the epoll descriptor, level-triggered; its callback only schedules the turn that handles the events, as
 * an ordinary immediate. An exception of a handler is therefore an ordinary uncaught exception. The remaining events
 * and work continue in the next turn, because a dropped edge-triggered event would never be repeated.
 *
 * A registration is identified by a slot and its generation: events of a removed registration have an old generation
 * and reach no handler.
 */
export class Poller {
  readonly #calls: SystemCalls;
  readonly #epoll: Descriptor;
  readonly #events: NativeMemory;
  readonly #change: NativeMemory;
  readonly #watch: LoopWatch;
  readonly #handlers: (Readiness | undefined)[] = [];
  readonly #generations: number[] = [];
  readonly #keeping: boolean[] = [];
  readonly #free: number[] = [];
  #size = 0;
  /** Number of registrations that keep the process alive. */
  #keepers = 0;
  /** Work for the next turn, of sockets that moved few bytes; `#heavy` is that of others. */
  readonly #light = new Fifo<Resumable>();
  readonly #heavy = new Fifo<Resumable>();
  /** The current batch; the rest, after a handler threw, is processed in the next turn. */
  #count = 0;
  #nextEvent = 0;
  #scheduled = false;
  readonly #budget: TurnBudget;
  #turn = 0;

  /** Opens the epoll instance. @throws {SystemError} if epoll_create1 fails. */
  constructor(calls: SystemCalls, budget = new TurnBudget()) {
    this.#calls = calls;
    this.#budget = budget;
    const epoll = calls.epollCreate1(SOCK_CLOEXEC);
    if (epoll < 0) throw new SystemError('epoll_create1', calls.errno());
    this.#epoll = new Descriptor(calls, epoll);
    this.#events = calls.memory(layout.words * 4 * BATCH);
    this.#change = calls.memory(16);
    this.#watch = calls.watch(epoll, this.#schedule);
    this.#watch.unref();
    // If the handle is still open while Node tears down the environment, the callback runs once more, and koffi aborts
    // the process.
    process.once('exit', this.#onExit);
  }

  /** Number of registrations. */
  get size(): number {
    return this.#size;
  }

  /** The number of the current turn, to give each socket a share of a turn. */
  get turn(): number {
    return this.#turn;
  }

  /** Whether more bytes may be moved in this turn; otherwise use `later`. */
  get mayMove(): boolean {
    return this.#budget.mayMove;
  }

  /** Counts bytes that were moved in this turn. */
  moved(bytes: number): void {
    this.#budget.move(bytes);
  }

  /**
   * Watches a descriptor.
   * @param events bits of `EPOLLIN` and so on, with `EPOLLET` for edges.
   * @param keepsAlive whether the registration keeps the process alive.
   * @returns the slot of the registration.
   * @throws {SystemError} if the kernel refuses, for example with ENOMEM or ENOSPC.
   */
  add(fd: number, handler: Readiness, events: number, keepsAlive = true): number {
    const slot = this.#free.pop() ?? this.#handlers.length;
    const generation = (this.#generations[slot] ??= 0);
    const { words } = this.#change;
    words[0] = events;
    words[layout.data] = slot;
    words[layout.data + 1] = generation;
    const failure = this.#register(fd);
    if (failure !== 0) {
      this.#free.push(slot);
      throw new SystemError('epoll_ctl', failure);
    }
    this.#handlers[slot] = handler;
    this.#keeping[slot] = false;
    this.#size++;
    this.keepAlive(slot, keepsAlive);
    return slot;
  }

  /**
   * Registers a descriptor with epoll; returns the error number, or 0. Replaces a registration that could not be
   * removed from epoll.
   */
  #register(fd: number): number {
    const { at } = this.#change;
    if (this.#calls.epollCtl(this.#epoll.number, EPOLL_CTL_ADD, fd, at) === 0) return 0;
    const error = this.#calls.errno();
    if (error !== EEXIST) return error;
    return this.#calls.epollCtl(this.#epoll.number, EPOLL_CTL_MOD, fd, at) === 0
      ? 0
      : this.#calls.errno();
  }

  /** Changes the events of a registered descriptor; returns false if the kernel refuses. */
  modify(slot: number, fd: number, events: number): boolean {
    if (this.#handlers[slot] === undefined || this.#epoll.number < 0) return false;
    const { words } = this.#change;
    words[0] = events;
    words[layout.data] = slot;
    words[layout.data + 1] = this.#generations[slot] as number; // registered
    return this.#calls.epollCtl(this.#epoll.number, EPOLL_CTL_MOD, fd, this.#change.at) === 0;
  }

  /**
   * Removes a registration immediately before its descriptor is closed, which removes it from
   * epoll.
   */
  remove(slot: number): void {
    if (this.#handlers[slot] === undefined) return;
    this.keepAlive(slot, false);
    this.#handlers[slot] = undefined;
    this.#generations[slot] = ((this.#generations[slot] ?? 0) + 1) >>> 0;
    this.#free.push(slot);
    this.#size--;
  }

  /** Removes a registration whose descriptor stays open. */
  detach(slot: number, fd: number): void {
    if (this.#handlers[slot] === undefined) return;
    if (this.#epoll.number >= 0) {
      this.#calls.epollCtl(this.#epoll.number, EPOLL_CTL_DEL, fd, this.#change.at);
    }
    this.remove(slot);
  }

  /** Sets whether a registration keeps the process alive. */
  keepAlive(slot: number, keeps: boolean): void {
    if (this.#keeping[slot] === keeps) return;
    this.#keeping[slot] = keeps;
    this.#keepers += keeps ? 1 : -1;
    if (this.#epoll.number < 0) return;
    if (keeps && this.#keepers === 1) this.#watch.ref();
    else if (!keeps && this.#keepers === 0) this.#watch.unref();
  }

  /**
   * Calls `work.resume` in the next turn or a later one, in order.
   * @param moved bytes that its socket has moved since it was last idle: see `LIGHT_BYTES`.
   */
  later(work: Resumable, moved = 0): void {
    (moved < LIGHT_BYTES ? this.#light : this.#heavy).push(work);
    this.#schedule();
  }

  /** Ends the watch. Idempotent; no registration gets events afterwards. */
  close(): void {
    if (this.#epoll.number < 0) return;
    process.off('exit', this.#onExit);
    this.#watch.close();
    this.#epoll.close();
  }

  readonly #onExit = (): void => this.close();

  readonly #schedule = (): void => {
    if (this.#scheduled) return;
    this.#scheduled = true;
    setImmediate(this.#run);
    // Runs after the callback and after all promises that it has settled.
    setImmediate(this.#end);
  };

  readonly #end = (): void => this.#budget.end();

  readonly #run = (): void => {
    this.#scheduled = false;
    if (this.#epoll.number < 0) return;
    this.#turn++;
    this.#budget.begin();
    try {
      this.#resumeDeferred();
      this.#dispatch();
      this.#take();
      this.#dispatch();
    } finally {
      // Also if a handler threw.
      const isLeft = this.#light.size + this.#heavy.size > 0;
      if (isLeft || this.#nextEvent < this.#count) this.#schedule();
    }
  };

  /**
   * Resumes work that was deferred before this turn; work deferred meanwhile is for the next turn. Work that exceeds
   * the bytes of this turn stays first in its queue, so that every socket gets its turn; in each turn at least one busy
   * socket does.
   */
  #resumeDeferred(): void {
    let light = this.#light.size;
    let heavy = this.#heavy.size;
    while (light-- > 0 && this.mayMove) this.#light.shift()?.resume();
    for (let isFirst = true; heavy-- > 0 && (isFirst || this.mayMove); isFirst = false) {
      if (isFirst) this.#budget.allow();
      this.#heavy.shift()?.resume();
    }
  }

  #take(): void {
    const count = this.#calls.epollWait(this.#epoll.number, this.#events.at, BATCH, 0);
    this.#nextEvent = 0;
    this.#count = Math.max(count, 0);
  }

  #dispatch(): void {
    const { words } = this.#events;
    while (this.#nextEvent < this.#count) {
      const at = this.#nextEvent++ * layout.words;
      const slot = words[at + layout.data] as number; // within the batch
      if (this.#generations[slot] === words[at + layout.data + 1]) {
        this.#handlers[slot]?.ready(words[at] as number); // within the batch
      }
      if (this.#epoll.number < 0) return;
    }
  }
}

const POLLIN = 0x1;
const POLLOUT = 0x4;
const POLLRDHUP = 0x2000;

/**
 * Returns the result of poll(2) for a descriptor, which consumes neither an edge of epoll nor the socket's
 * error. 0 if it is not ready.
 */
export function pollEvents(
  { calls, option }: { readonly calls: SystemCalls; readonly option: NativeMemory },
  fd: number,
  { input, output }: { readonly input: boolean; readonly output: boolean },
): number {
  // struct pollfd { int fd; short events; short revents; }
  option.bytes.writeInt32LE(fd, 0);
  option.bytes.writeInt16LE((input ? POLLIN | POLLRDHUP : 0) | (output ? POLLOUT : 0), 4);
  option.bytes.writeInt16LE(0, 6);
  return calls.poll(option.at, 1, 0) === 1 ? option.bytes.readUInt16LE(6) : 0;
}
