import { WeirError } from '../../errors.ts';
import { systemClock, type Clock, type Timer } from '../../net/time/clock.ts';
import { unlessAborted } from '../../net/time/unless-aborted.ts';
import { threadHolds } from '../../platform/process/end-process.ts';
import { attachError, type DetachedError } from './detached-error.ts';
import type { FirstPiece, NextPiece } from './pieces.ts';
import { startThread } from './start-thread.ts';

/** The tasks of the thread; `thread-main.ts` carries them out. */
export type ThreadTask =
  | {
      readonly kind: 'load';
      readonly path: string | undefined;
      readonly bytes: Uint8Array | undefined;
      readonly serveApi: boolean;
    }
  | { readonly kind: 'routes'; readonly path: string | undefined }
  | {
      readonly kind: 'edit';
      readonly path: string | undefined;
      readonly bytes: Uint8Array;
      readonly subscribe: boolean;
      readonly group: string;
      readonly target: string;
    };

/** A message to the thread: a task, or a request for more of the outcome of the last. */
export type ThreadRequest = ThreadTask | { readonly kind: 'more' };

/**
 * A message from the thread: the beginning of an outcome and the bytes of its heap, then a piece for
 * every request; `undefined` after the last.
 */
export type ThreadMessage =
  | { readonly kind: 'value'; readonly first: FirstPiece; readonly heap: number }
  | { readonly kind: 'failure'; readonly failure: DetachedError }
  | { readonly kind: 'piece'; readonly piece: NextPiece | undefined };

/**
 * More than this, all files together, is read in a separate thread: parsing it would delay
 * traffic. The first file of this length that a process parses takes 25 ms, before the parser has
 * been compiled; a warm thread takes less, but one has to be started first, which takes 300.
 */
export const SMALL = 10 * 1024;

/** How long an idle thread is kept: it costs some 40 MB. */
const IDLE_MS = 10_000;

/** How long a stop waits for the thread's end. */
const END_MS = 1_000;

/** A larger heap is mostly garbage, which is not collected while the thread waits: it ends at once. */
const MAX_IDLE_HEAP = 128 * 1024 * 1024;

/** The most tasks in the queue, and the most callers. */
const MAX_TASKS = 16;
const MAX_CALLERS = 1024;

/** The part of a worker that is used here. */
export interface ThreadWorker {
  on(event: 'message', listener: (message: ThreadMessage) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
  postMessage(request: ThreadRequest): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<number>;
}

/** One task with all its callers. */
class Job {
  readonly task: ThreadTask;
  readonly outcome = Promise.withResolvers<unknown>();
  callers = 0;
  #value: unknown;
  #lists: readonly unknown[][] = [];

  constructor(task: ThreadTask) {
    this.task = task;
    // All callers may have left.
    this.outcome.promise.catch(() => undefined);
  }

  /** Takes the outcome, or one piece of it; true when there is more to come. */
  take(message: ThreadMessage): boolean {
    switch (message.kind) {
      case 'failure':
        this.outcome.reject(attachError(message.failure));
        return false;
      case 'value':
        this.#value = message.first.value;
        this.#lists = message.first.lists;
        if (this.#lists.length > 0) return true;
        break;
      case 'piece':
        if (message.piece) {
          this.#lists[message.piece.list]?.push(...message.piece.items);
          return true;
        }
        break;
    }
    this.outcome.resolve(this.#value);
    return false;
  }
}

/**
 * A thread for work that would delay traffic, one task after the other. It is started for the
 * first task, ends when it has been idle for a while, and is replaced when it fails. It keeps the
 * process alive only while it has a task.
 */
export class ConfigThread {
  readonly #clock: Clock;
  readonly #start: () => ThreadWorker;
  readonly #queue: Job[] = [];
  #callers = 0;
  #job: Job | undefined;
  #worker: ThreadWorker | undefined;
  /** Bytes, after the last task. */
  #heap = 0;
  #idle: Timer | undefined;
  #stopped: Error | undefined;

  constructor(clock = systemClock, start: () => ThreadWorker = startThread) {
    this.#clock = clock;
    this.#start = start;
  }

  /**
   * Has the thread carry out a task. A queued reading of routes is shared by all callers of the same
   * path: it begins after each of them has called.
   *
   * @param signal ends the wait; a task that has not begun is dropped once it has no caller left
   * @throws {WeirError} what the task failed with, without its cause; `busy` when too much waits
   * @throws the signal's reason
   */
  async run(task: ThreadTask, signal?: AbortSignal): Promise<unknown> {
    signal?.throwIfAborted();
    if (this.#stopped) throw this.#stopped;
    const job = this.#jobFor(task);
    job.callers++;
    this.#callers++;
    this.#next();
    try {
      return await unlessAborted(job.outcome.promise, signal);
    } finally {
      job.callers--;
      this.#callers--;
      if (job.callers === 0) this.#drop(job);
    }
  }

  /**
   * Ends the thread; every task rejects with the reason, those to come as well. A thread that does not
   * end, because the system does not finish a call of it, is left behind after a second.
   */
  async stop(reason: Error): Promise<void> {
    this.#stopped = reason;
    for (const job of this.#queue.splice(0)) job.outcome.reject(reason);
    this.#job?.outcome.reject(reason);
    this.#job = undefined;
    const { promise: late, resolve } = Promise.withResolvers<'late'>();
    const timer = this.#clock.after(END_MS, () => resolve('late'));
    const outcome = await Promise.race([this.#end(), late]);
    timer.cancel();
    if (outcome === 'late') threadHolds();
  }

  #jobFor(task: ThreadTask): Job {
    const shared = this.#queue.find(
      ({ task: other }) =>
        task.kind === 'routes' && other.kind === 'routes' && task.path === other.path,
    );
    if (this.#callers >= MAX_CALLERS || (!shared && this.#queue.length >= MAX_TASKS)) {
      throw new WeirError('busy', 'too many requests wait for the configuration to be read');
    }
    if (shared) return shared;
    const job = new Job(task);
    this.#queue.push(job);
    return job;
  }

  #drop(job: Job): void {
    const at = this.#queue.indexOf(job);
    if (at >= 0) this.#queue.splice(at, 1);
  }

  /** Begins the first task of the queue, unless one is under way. */
  #next(): void {
    if (this.#job) return;
    const job = this.#queue.shift();
    this.#job = job;
    if (!job) {
      this.#rest();
      return;
    }
    this.#idle?.cancel();
    try {
      this.#worker ??= this.#started();
      this.#worker.ref();
      this.#worker.postMessage(job.task satisfies ThreadRequest);
    } catch (error) {
      this.#job = undefined;
      job.outcome.reject(error);
      this.#next();
    }
  }

  #rest(): void {
    this.#worker?.unref();
    this.#idle?.cancel();
    if (this.#heap > MAX_IDLE_HEAP) {
      void this.#end();
      return;
    }
    this.#idle = this.#worker && this.#clock.after(IDLE_MS, () => void this.#end());
  }

  #started(): ThreadWorker {
    const worker = this.#start();
    worker.on('message', (message: ThreadMessage) => this.#take(worker, message));
    worker.on('error', (error) => this.#fail(worker, error));
    worker.on('exit', () => {
      this.#fail(worker, new WeirError('internal', 'a thread ended before its task'));
    });
    return worker;
  }

  #take(worker: ThreadWorker, message: ThreadMessage): void {
    if (worker !== this.#worker || !this.#job) return;
    if (message.kind === 'value') this.#heap = message.heap;
    if (this.#job.take(message)) {
      worker.postMessage({ kind: 'more' } satisfies ThreadRequest);
      return;
    }
    this.#job = undefined;
    this.#next();
  }

  /** The next task gets another thread. */
  #fail(worker: ThreadWorker, error: unknown): void {
    if (worker !== this.#worker) return;
    this.#worker = undefined;
    this.#heap = 0;
    void worker.terminate();
    this.#job?.outcome.reject(error);
    this.#job = undefined;
    this.#next();
  }

  async #end(): Promise<void> {
    this.#idle?.cancel();
    const worker = this.#worker;
    this.#worker = undefined;
    this.#heap = 0;
    await worker?.terminate();
  }
}
