import { deserializeError, type SerializedError } from '../../app/loading/serialized-error.ts';
import { WeirError } from '../../errors.ts';
import { systemClock, type Clock, type Timer } from '../../net/time/clock.ts';
import { OwnMemory, type ProcessMemory } from '../../platform/process/process-memory.ts';
import { unlessAborted } from '../../net/time/unless-aborted.ts';
import type { FileRequestName, FileResult, FileWorker, ParametersOf } from './file-requests.ts';
import { startFileThread } from './start-file-thread.ts';

/** A message to the thread. */
export type ToFileThread =
  | {
      readonly kind: 'ask';
      readonly id: number;
      readonly name: FileRequestName;
      readonly parameters: ParametersOf<FileRequestName>;
    }
  | { readonly kind: 'cancel'; readonly id: number };

/** A message from the thread. */
export type FromFileThread =
  | { readonly kind: 'value'; readonly id: number; readonly value: unknown }
  | { readonly kind: 'failure'; readonly id: number; readonly failure: SerializedError };

/** Milliseconds after which an idle thread ends and frees what it has read. */
const IDLE_MS = 60_000;

/** Maximum number of pending requests. */
const MAX_PENDING = 64;

/** The members of a `Worker` that FileThread uses. */
export interface FileThreadWorker {
  on(event: 'message', listener: (message: FromFileThread) => void): unknown;
  on(event: 'error', listener: (error: unknown) => void): unknown;
  on(event: 'exit', listener: () => void): unknown;
  postMessage(message: ToFileThread): void;
  ref(): void;
  unref(): void;
  terminate(): Promise<number>;
}

/**
 * Runs requests in a thread of its own: reading a configuration with large lists takes seconds, and the pages are
 * served meanwhile. The thread starts with the first request, and ends when idle.
 */
export class FileThread implements FileWorker, Disposable {
  readonly #clock: Clock;
  readonly #start: () => FileThreadWorker;
  readonly #memory: Pick<ProcessMemory, 'trim'>;
  readonly #pending = new Map<number, PromiseWithResolvers<unknown>>();
  #worker: FileThreadWorker | undefined;
  #idle: Timer | undefined;
  #requests = 0;

  constructor(
    clock: Clock = systemClock,
    start: () => FileThreadWorker = startFileThread,
    memory: Pick<ProcessMemory, 'trim'> = new OwnMemory(),
  ) {
    this.#clock = clock;
    this.#start = start;
    this.#memory = memory;
  }

  /** @throws {WeirError} `busy` when too many requests are pending; errors of the thread arrive without their cause */
  async ask<K extends FileRequestName>(
    name: K,
    parameters: ParametersOf<K>,
    signal?: AbortSignal,
  ): Promise<FileResult<K>> {
    signal?.throwIfAborted();
    if (this.#pending.size >= MAX_PENDING) {
      throw new WeirError('busy', 'too many requests wait for the configuration to be read');
    }
    this.#idle?.cancel();
    const worker = (this.#worker ??= this.#started());
    const id = ++this.#requests;
    const pending = Promise.withResolvers<unknown>();
    this.#pending.set(id, pending);
    worker.ref();
    try {
      worker.postMessage({ kind: 'ask', id, name, parameters });
      // file-thread-main.ts replies with results of a FileWork, which have the same types.
      return (await unlessAborted(pending.promise, signal)) as FileResult<K>;
    } finally {
      if (this.#pending.delete(id)) worker.postMessage({ kind: 'cancel', id });
      this.#rest();
    }
  }

  [Symbol.dispose](): void {
    this.#fail(this.#worker, new WeirError('ended', 'the dashboard ends'));
  }

  #started(): FileThreadWorker {
    const worker = this.#start();
    worker.on('message', (message) => this.#take(message));
    worker.on('error', (error) => this.#fail(worker, error));
    worker.on('exit', () => this.#fail(worker, new WeirError('internal', 'a thread has ended')));
    return worker;
  }

  #take(message: FromFileThread): void {
    const pending = this.#pending.get(message.id);
    if (!pending) return; // cancelled
    this.#pending.delete(message.id);
    if (message.kind === 'value') pending.resolve(message.value);
    else pending.reject(deserializeError(message.failure));
  }

  /** Rejects the pending requests; the next request starts another thread. */
  #fail(worker: FileThreadWorker | undefined, error: unknown): void {
    if (worker === undefined || worker !== this.#worker) return;
    this.#worker = undefined;
    this.#idle?.cancel();
    void this.#endOf(worker);
    const failed = [...this.#pending.values()];
    this.#pending.clear();
    for (const { reject } of failed) reject(error);
  }

  #rest(): void {
    this.#idle?.cancel();
    const worker = this.#worker;
    if (!worker || this.#pending.size > 0) return;
    worker.unref();
    this.#idle = this.#clock.after(IDLE_MS, () => {
      this.#worker = undefined;
      void this.#endOf(worker);
    });
  }

  /**
   * Memory that a thread frees stays in its malloc arena, 7 MB of it resident. Another thread may take over that arena,
   * and the next one then begins a new one.
   */
  async #endOf(worker: FileThreadWorker): Promise<void> {
    await worker.terminate();
    this.#memory.trim();
  }
}
