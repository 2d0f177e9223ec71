import { WeirError } from '@weir/base';
import type { ConfigSource } from '@weir/config/documents';
import type { LoadHooks } from '@weir/config/load';
import { threadHolds } from '@weir/io/platform/process/end-process';
import { type Clock, systemClock, unlessAborted } from '@weir/io/time';
import type { RegexCache } from '@weir/proxy/names';
import { FileDigests, type FilesSeen, ReadBudgetError } from './file-digests.ts';
import { InlineRunner } from './inline-runner.ts';
import { startThread } from './start-thread.ts';
import {
  type EditTask,
  isSameSource,
  type PreparedConfig,
  type ResultOf,
  type RoutesRead,
  type Task,
  type TaskOptions,
  type TaskRunner,
  toPreparedConfig,
} from './tasks.ts';
import {
  deserializeError,
  type SerializedError,
  type ThreadHandle,
  TypedWorker,
} from './typed-worker.ts';

/** The requests of the thread. */
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
   * Queues a task. Callers that read the routes of the same source share one task while it is queued: each gets the
   * contents of the files after its call.
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
        task.kind === 'routes' && other.kind === 'routes' && isSameSource(task, other),
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

/**
 * Maximum bytes of all files that are read in this thread: parsing more would delay traffic. The first file of this
 * length that a process parses takes 25 ms, before the parser has been compiled; a running thread takes less, but
 * starting one takes 300.
 */
const INLINE_LIMIT = 10 * 1024;

/** Maximum bytes of all files that are read in this thread before there is any traffic, when only the 300 ms matter. */
const INLINE_LIMIT_AT_START = 1024 * 1024;

export interface LoaderOptions {
  /** Compiles patterns; pass the cache that is kept across reloads, where there is one. */
  readonly regexes: RegexCache;
  /** Whether `[api]` will be served; otherwise it is not even validated. */
  readonly serveApi: boolean;
}

/** Reads and edits configurations without delaying traffic: small files in this thread, large ones in another. */
export class ConfigLoader {
  readonly #inline: TaskRunner;
  readonly #thread: TaskRunner;
  readonly #serveApi: boolean;

  /**
   * @param inline rejects large tasks with ReadBudgetError
   * @param thread accepts tasks of any size
   */
  constructor(inline: TaskRunner, thread: TaskRunner, serveApi: boolean) {
    this.#inline = inline;
    this.#thread = thread;
    this.#serveApi = serveApi;
  }

  /** Creates the loader of a running instance. */
  static beside(thread: TaskRunner, { regexes, serveApi }: LoaderOptions): ConfigLoader {
    return new ConfigLoader(new InlineRunner({ limit: INLINE_LIMIT, regexes }), thread, serveApi);
  }

  /**
   * Reads a configuration and the files that it names, and prepares it for the supervisor.
   * @throws {ConfigError} of kind `io` when a file cannot be read, `invalid` for an error in one
   */
  async load(source: ConfigSource, options: TaskOptions = {}): Promise<PreparedConfig> {
    const task = { kind: 'load', serveApi: this.#serveApi, ...source } as const;
    return toPreparedConfig(await this.#run(task, options));
  }

  /** Reads the routes from the files. @throws {ConfigError} as `readDocuments` does */
  routes(source: ConfigSource, signal?: AbortSignal): Promise<RoutesRead> {
    return this.#run({ kind: 'routes', ...source }, { signal });
  }

  /** Writes a pick into bytes of a configuration file. @throws {ConfigError} as `editPick` does */
  edit(edit: Omit<EditTask, 'kind'>, signal?: AbortSignal): Promise<Uint8Array> {
    return this.#run({ kind: 'edit', ...edit }, { signal });
  }

  async #run<T extends Task>(task: T, options: TaskOptions): Promise<ResultOf<T>> {
    try {
      return await this.#inline.run(task, options);
    } catch (error) {
      if (!(error instanceof ReadBudgetError)) throw error;
    }
    return this.#thread.run(task, options);
  }
}

/**
 * Loads a configuration before there is any traffic. Large files are still read in a thread: its memory is returned to
 * the system when it ends, whereas the heap of this thread would stay as large.
 * @param options `blocking`: whether reading small files blocks the thread, for a process without other work
 * @throws {ConfigError} as `ConfigLoader.load` does, with its cause
 */
export async function loadAtStart(
  source: ConfigSource,
  {
    regexes,
    serveApi,
    files = new FileDigests(),
    blocking = false,
    onLogLevel,
  }: LoaderOptions & {
    readonly files?: FileDigests | undefined;
    readonly blocking?: boolean;
    readonly onLogLevel?: LoadHooks['onLogLevel'];
  },
): Promise<PreparedConfig> {
  const upTo = (limit: number): TaskRunner =>
    new InlineRunner({ limit, regexes, blocking, onLogLevel });
  const large: TaskRunner = {
    async run(task, options) {
      const thread = new ConfigThread();
      try {
        return await thread.run(task, options);
      } catch {
        // Errors from the thread have lost their causes: loading again in this thread reproduces the error.
        return await upTo(Infinity).run(task, options);
      } finally {
        void thread.stop(new WeirError('ended', 'the configuration has been read'));
      }
    },
  };
  const loader = new ConfigLoader(upTo(INLINE_LIMIT_AT_START), large, serveApi);
  return loader.load(source, { files });
}
