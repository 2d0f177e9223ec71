import { Worker } from 'node:worker_threads';
import { WeirError } from '../errors.ts';
import { abortReason } from '../net/read-queue.ts';
import { attachError, type DetachedError } from './detached-error.ts';

/** What a thread can be asked to do; the answers are in `thread-main.ts`. */
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

/** The one message that a thread sends. */
export type ThreadAnswer = { readonly value: unknown } | { readonly failure: DetachedError };

/**
 * More than this, all files together, is read in a thread of its own: parsing it would hold up
 * traffic. What is less takes some milliseconds, and starting a thread a hundred.
 */
export const SMALL = 256 * 1024;

/** Beside this file, whichever of the two it has been compiled to. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './thread-main.ts' : './thread-main.js',
  import.meta.url,
);

/**
 * Has a thread do one task, and ends it.
 *
 * @param signal ends it early
 * @throws {WeirError} what the task failed with, without its cause
 */
export async function inThread(task: ThreadTask, signal?: AbortSignal): Promise<unknown> {
  signal?.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<ThreadAnswer>();
  const worker = new Worker(THREAD, { workerData: task, execArgv: [] });
  const onAbort = (): void => reject(abortReason(signal as AbortSignal)); // only where there is one
  signal?.addEventListener('abort', onAbort, { once: true });
  worker.on('message', resolve);
  worker.on('error', reject);
  worker.on('exit', () => reject(new WeirError('internal', 'a thread ended before its task')));
  try {
    const answer = await promise;
    if ('failure' in answer) throw attachError(answer.failure);
    return answer.value;
  } finally {
    signal?.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}
