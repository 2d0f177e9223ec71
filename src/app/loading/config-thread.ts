import { WeirError } from '../../errors.ts';
import { systemClock, type Clock, type Timer } from '../../net/time/clock.ts';
import { unlessAborted } from '../../net/time/unless-aborted.ts';
import { threadHolds } from '../../platform/process/end-process.ts';
import type { FilesRead, FilesSeen } from './files-read.ts';
import { deserializeError, type SerializedError } from './serialized-error.ts';
import { startThread } from './start-thread.ts';
import type { ResultOf, TaskOptions, Task, TaskRunner } from './tasks.ts';
import { ValueJoiner, type FirstPiece, type NextPiece } from './value-pieces.ts';

/** A message to the thread: a task, or a request for the next piece of the last result. */
export type ThreadRequest = Task | { readonly kind: 'more' };

/**
 * A message from the thread: the first piece of a result, or an error; then a piece for every request,
 * `undefined` after the last.
 */
export type ThreadMessage =
  | ({ readonly kind: 'value'; readonly first: FirstPiece } & AfterTask)
  | ({ readonly kind: 'failure'; readonly failure: SerializedError } & AfterTask)
  | { readonly kind: 'piece'; readonly piece: NextPiece | undefined };

export interface AfterTask {
  /** The files that the task has read. */
  readonly files: FilesSeen;
  /** The size of the thread's heap in bytes. */
  readonly heap: number;
}

/** Milliseconds for which an idle thread is kept; it takes some 40 MB. */
const IDLE_MS = 10_000;

/** Milliseconds for which `stop` waits for the end of the thread. */
const END_MS = 1_000;

/** A thread with a larger heap ends immediately: most of it is garbage, which an idle thread does not collect. */
const MAX_IDLE_HEAP = 128 * 1024 * 1024;

/** Limits of queued tasks, and of callers that wait for them. */
const MAX_TASKS = 16;
const MAX_CALLERS = 1024;

/** The members of a `Worker` that ConfigThread uses. */
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
  readonly task: Task;
  readonly outcome = Promise.withResolvers<unknown>();
  callers = 0;
  readonly #files: FilesRead | undefined;
  #joiner: ValueJoiner | undefined;

  constructor(task: Task, files: FilesRead | undefined) {
    this.task = task;
    this.#files = files;
    // There may be no callers left to handle the rejection.
    this.outcome.promise.catch(() => undefined);
  }

  /** Handles a message about the outcome; returns whether another one is to be requested. */
  take(message: ThreadMessage): boolean {
    if (message.kind !== 'piece') this.#files?.adopt(message.files);
    switch (message.kind) {
      case 'failure':
        this.outcome.reject(deserializeError(message.failure));
        return false;
      case 'value':
        this.#joiner = new ValueJoiner(message.first);
        if (!this.#joiner.isComplete) return true;
        break;
      case 'piece':
        if (message.piece) {
          this.#joiner?.add(message.piece);
          return true;
        }
        break;
    }
    this.outcome.resolve(this.#joiner?.value);
    return false;
  }
}

/**
 * A worker thread for tasks that would delay traffic, one after the other. It is started for the first task, ends after
 * it has been idle, and is replaced when it fails. It keeps the process alive only while it has a task.
 */
export class ConfigThread implements TaskRunner {
  readonly #clock: Clock;
  readonly #start: () => ThreadWorker;
  readonly #queue: Job[] = [];
  #callers = 0;
  #job: Job | undefined;
  #worker: ThreadWorker | undefined;
  /** Size of the thread's heap after the last task, in bytes. */
  #heap = 0;
  #idle: Timer | undefined;
  #stopped: Error | undefined;

  constructor(clock = systemClock, start: () => ThreadWorker = startThread) {
    this.#clock = clock;
    this.#start = start;
  }

  /**
   * Queues a task. Callers that read the routes of the same path share one task while it is queued: each gets the
   * contents of the files after its call.
   *
   * @param options `signal` drops a queued task once no caller is left
   * @throws {WeirError} the error of the task, without its cause; `busy` when too much is queued
   * @throws the signal's reason
   */
  async run<T extends Task>(task: T, { files, signal }: TaskOptions = {}): Promise<ResultOf<T>> {
    signal?.throwIfAborted();
    if (this.#stopped) throw this.#stopped;
    const job = this.#jobFor(task, files);
    job.callers++;
    this.#callers++;
    this.#next();
    try {
      const result = await unlessAborted(job.outcome.promise, signal);
      return result as ResultOf<T>; // thread-main.ts runs the same tasks by an InlineRunner
    } finally {
      job.callers--;
      this.#callers--;
      if (job.callers === 0) this.#drop(job);
    }
  }

  /**
   * Ends the thread; all tasks, including future ones, reject with the reason. A thread that does not end within a
   * second, because a system call of it does not return, is abandoned.
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

  #jobFor(task: Task, files: FilesRead | undefined): Job {
    const shared = this.#queue.find(
      ({ task: other }) =>
        task.kind === 'routes' && other.kind === 'routes' && task.path === other.path,
    );
    if (this.#callers >= MAX_CALLERS || (!shared && this.#queue.length >= MAX_TASKS)) {
      throw new WeirError('busy', 'too many requests wait for the configuration to be read');
    }
    if (shared) return shared;
    const job = new Job(task, files);
    this.#queue.push(job);
    return job;
  }

  #drop(job: Job): void {
    const at = this.#queue.indexOf(job);
    if (at >= 0) this.#queue.splice(at, 1);
  }

  /** Starts the first task of the queue, unless one is running. */
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
    if (message.kind !== 'piece') this.#heap = message.heap;
    if (this.#job.take(message)) {
      worker.postMessage({ kind: 'more' } satisfies ThreadRequest);
      return;
    }
    this.#job = undefined;
    this.#next();
  }

  /** Fails the current task; the next task starts another thread. */
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
