import { TypedWorker, type ThreadHandle } from '@weir/server/app/loading/typed-worker';
import { WeirError } from '@weir/base';
import type { Clock } from '@weir/io/time';
import { OwnMemory, type ProcessMemory } from '@weir/io/process';
import type {
  FileRequestName,
  FileRequests,
  FileResult,
  FileWorker,
  ParametersOf,
} from './file-requests.ts';
import { startFileThread } from './start-file-thread.ts';

/** Milliseconds after which an idle thread ends and frees what it has read. */
const IDLE_MS = 60_000;

/** Maximum number of pending requests. */
const MAX_PENDING = 64;

/**
 * Runs requests in a thread of its own: reading a configuration with large lists takes seconds, and the pages are
 * served meanwhile.
 */
export class FileThread implements FileWorker, Disposable {
  readonly #worker: TypedWorker<FileRequests>;

  constructor(
    clock?: Clock,
    start: () => ThreadHandle = startFileThread,
    memory: Pick<ProcessMemory, 'trim'> = new OwnMemory(),
  ) {
    // Memory that a thread frees stays in its malloc arena, 7 MB of it resident. Another thread may take over that
    // arena, and the next one then begins a new one.
    const onEnded = (): void => memory.trim();
    this.#worker = new TypedWorker({ start, clock, idleMs: IDLE_MS, onEnded });
  }

  /** @throws {WeirError} `busy` when too many requests are pending; errors of the thread arrive without their cause */
  async ask<K extends FileRequestName>(
    name: K,
    parameters: ParametersOf<K>,
    signal?: AbortSignal,
  ): Promise<FileResult<K>> {
    signal?.throwIfAborted();
    if (this.#worker.pending >= MAX_PENDING) {
      throw new WeirError('busy', 'too many requests wait for the configuration to be read');
    }
    return this.#worker.ask(name, parameters, signal);
  }

  [Symbol.dispose](): void {
    void this.#worker.end(new WeirError('ended', 'the dashboard ends'));
  }
}
