import type { LoopWatch, SystemCalls } from './bindings.ts';
import { Descriptor } from './descriptor.ts';
import { SystemError } from './errno.ts';
import { EEXIST, EPOLL_CTL_ADD, EPOLL_CTL_DEL, EPOLL_CTL_MOD, SOCK_CLOEXEC } from './linux.ts';
import type { NativeMemory } from '../native-memory.ts';

/** Reacts to the readiness of one descriptor. */
export interface Readiness {
  /** @param events the bits of `EPOLLIN` and so on. */
  ready(events: number): void;
}

/** Has more to do than its share of a turn. */
export interface Resumable {
  resume(): void;
}

/** Events that one call brings. What is left stays in the kernel and comes with the next turn. */
const BATCH = 512;

/**
 * Bytes that all sockets together may move in one turn of the event loop, before timers, the control
 * API and Node's own sockets have their turn: about 2 ms of copying.
 */
const BYTES_A_TURN = 4 << 20;

/** `struct epoll_event` in words: packed on x64 only (include/uapi/linux/eventpoll.h). */
const layout =
  process.arch === 'x64' ? ({ words: 3, data: 1 } as const) : ({ words: 4, data: 2 } as const);

/**
 * One epoll instance inside the event loop of this thread.
 *
 * libuv watches the epoll descriptor, level-triggered; its callback only schedules the turn that
 * takes the events, as an ordinary immediate. What a handler throws is therefore an ordinary
 * uncaught exception; the events and the work behind it go on in the next turn, since an
 * edge-triggered event that was taken from the kernel and dropped would never come again.
 *
 * A slot of the table with a generation identifies a registration: an event of a registration that
 * has been removed meets another generation and reaches no handler.
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
  /** Registrations that keep the process alive. */
  #keepers = 0;
  #deferred: Resumable[] = [];
  #nextDeferred = 0;
  /** The batch in hand; what a handler that threw left behind is taken up in the next turn. */
  #count = 0;
  #nextEvent = 0;
  #scheduled = false;
  #budget = BYTES_A_TURN;
  #turn = 0;

  /** @throws {SystemError} when there is no epoll instance to be had. */
  constructor(calls: SystemCalls) {
    this.#calls = calls;
    const epoll = calls.epollCreate1(SOCK_CLOEXEC);
    if (epoll < 0) throw new SystemError('epoll_create1', calls.errno());
    this.#epoll = new Descriptor(calls, epoll);
    this.#events = calls.memory(layout.words * 4 * BATCH);
    this.#change = calls.memory(16);
    this.#watch = calls.watch(epoll, this.#schedule);
    this.#watch.unref();
    // A handle that is still open while Node takes the environment down is called once more, and
    // koffi then ends the process by abort.
    process.once('exit', this.#onExit);
  }

  /** Registrations. */
  get size(): number {
    return this.#size;
  }

  /** Counts turns, so that a share of a turn can be given to each socket. */
  get turn(): number {
    return this.#turn;
  }

  /** Whether more bytes may be moved in this turn; otherwise what is left is for `later`. */
  get mayMove(): boolean {
    return this.#budget > 0;
  }

  /** Books bytes that were moved in this turn. */
  moved(bytes: number): void {
    this.#budget -= bytes;
  }

  /**
   * Watches a descriptor.
   *
   * @param events bits of `EPOLLIN` and so on, with `EPOLLET` for edges.
   * @param keepsAlive whether the process must not end by itself meanwhile.
   * @returns the slot of the registration.
   * @throws {SystemError} when the kernel refuses, as with ENOMEM or ENOSPC.
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

  /** The error number, or 0. A registration that could not be taken out of epoll is replaced. */
  #register(fd: number): number {
    const { at } = this.#change;
    if (this.#calls.epollCtl(this.#epoll.number, EPOLL_CTL_ADD, fd, at) === 0) return 0;
    const error = this.#calls.errno();
    if (error !== EEXIST) return error;
    return this.#calls.epollCtl(this.#epoll.number, EPOLL_CTL_MOD, fd, at) === 0
      ? 0
      : this.#calls.errno();
  }

  /** Watches a registered descriptor for other events; false when the kernel refuses. */
  modify(slot: number, fd: number, events: number): boolean {
    if (this.#handlers[slot] === undefined || this.#epoll.number < 0) return false;
    const { words } = this.#change;
    words[0] = events;
    words[layout.data] = slot;
    words[layout.data + 1] = this.#generations[slot] as number; // registered
    return this.#calls.epollCtl(this.#epoll.number, EPOLL_CTL_MOD, fd, this.#change.at) === 0;
  }

  /** Forgets a registration. Right before its descriptor is closed, which takes it out of epoll. */
  remove(slot: number): void {
    if (this.#handlers[slot] === undefined) return;
    this.keepAlive(slot, false);
    this.#handlers[slot] = undefined;
    this.#generations[slot] = ((this.#generations[slot] ?? 0) + 1) >>> 0;
    this.#free.push(slot);
    this.#size--;
  }

  /** Forgets a registration whose descriptor stays open. */
  detach(slot: number, fd: number): void {
    if (this.#handlers[slot] === undefined) return;
    if (this.#epoll.number >= 0) {
      this.#calls.epollCtl(this.#epoll.number, EPOLL_CTL_DEL, fd, this.#change.at);
    }
    this.remove(slot);
  }

  /** Whether a registration keeps the process alive. */
  keepAlive(slot: number, keeps: boolean): void {
    if (this.#keeping[slot] === keeps) return;
    this.#keeping[slot] = keeps;
    this.#keepers += keeps ? 1 : -1;
    if (this.#epoll.number < 0) return;
    if (keeps && this.#keepers === 1) this.#watch.ref();
    else if (!keeps && this.#keepers === 0) this.#watch.unref();
  }

  /** Calls `work.resume` in the next turn; in order. */
  later(work: Resumable): void {
    this.#deferred.push(work);
    this.#schedule();
  }

  /** Ends the watch. Idempotent; no registration hears of an event afterwards. */
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
  };

  readonly #run = (): void => {
    this.#scheduled = false;
    if (this.#epoll.number < 0) return;
    this.#turn++;
    this.#budget = BYTES_A_TURN;
    try {
      this.#resumeDeferred();
      this.#dispatch();
      this.#take();
      this.#dispatch();
    } finally {
      // Also after a handler that threw.
      if (this.#deferred.length > 0 || this.#nextEvent < this.#count) this.#schedule();
    }
  };

  /**
   * What was deferred before this turn began; what it defers again is for the next one. What the
   * turn has no bytes left for stays in front of that, or the same ones would go first each time.
   */
  #resumeDeferred(): void {
    const end = this.#deferred.length;
    try {
      while (this.#nextDeferred < end && this.mayMove) {
        this.#deferred[this.#nextDeferred++]?.resume();
      }
    } finally {
      this.#deferred = this.#deferred.slice(this.#nextDeferred);
      this.#nextDeferred = 0;
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
