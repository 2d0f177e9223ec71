import { WeirError } from '@weir/base';
import { systemClock, type Clock, unlessAborted } from '@weir/io/time';
import { threadHolds } from '@weir/io/platform/process/end-process';
import type { FileDigests, FilesSeen } from './file-digests.ts';
import { deserializeError, type SerializedError } from './serialized-error.ts';
import { startThread } from './start-thread.ts';
import type { ResultOf, TaskOptions, Task, TaskRunner } from './tasks.ts';
import { TypedWorker, type ThreadHandle } from './typed-worker.ts';

/** What the thread does. */
export interface ConfigRequests {
  readonly run: { readonly parameters: Task; readonly result: TaskDone };
}

/** A task that was carried out, whether or not it failed. */
export interface TaskDone {
  readonly outcome: { readonly value: unknown } | { readonly failure: SerializedError };
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

/** One task with all its callers. */
class Job {
  readonly task: Task;
  readonly files: FileDigests | undefined;
  readonly outcome = Promise.withResolvers<unknown>();
  callers = 0;

  constructor(task: Task, files: FileDigests | undefined) {
    this.task = task;
    this.files = files;
    // There may be no callers left to handle the rejection.
    this.outcome.promise.catch(() => undefined);
  }
}

/** Tasks that would delay traffic, carried out one after the other by a thread, which is started for the first one. */
export class ConfigThread implements TaskRunner {
  readonly #clock: Clock;
  readonly #worker: TypedWorker<ConfigRequests>;
  readonly #queue: Job[] = [];
  #callers = 0;
  #job: Job | undefined;
  #stopped: Error | undefined;

  constructor(clock: Clock = systemClock, start: () => ThreadHandle = startThread) {
    this.#clock = clock;
    this.#worker = new TypedWorker({ start, clock, idleMs: IDLE_MS });
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
    const { promise: late, resolve } = Promise.withResolvers<'late'>();
    const timer = this.#clock.after(END_MS, () => resolve('late'));
    const outcome = await Promise.race([this.#worker.end(reason), late]);
    timer.cancel();
    if (outcome === 'late') threadHolds();
  }

  #jobFor(task: Task, files: FileDigests | undefined): Job {
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
    this.#job = this.#queue.shift();
    if (this.#job) void this.#carryOut(this.#job);
  }

  async #carryOut({ task, files, outcome }: Job): Promise<void> {
    let heap = 0;
    try {
      const done = await this.#worker.ask('run', task);
      ({ heap } = done);
      files?.adopt(done.files);
      if ('value' in done.outcome) outcome.resolve(done.outcome.value);
      else outcome.reject(deserializeError(done.outcome.failure));
    } catch (error) {
      outcome.reject(error);
    }
    this.#job = undefined;
    this.#next();
    if (heap <= MAX_IDLE_HEAP || this.#job !== undefined) return;
    void this.#worker.end(new WeirError('ended', 'the thread has a large heap'));
  }
}
