import { Worker } from 'node:worker_threads';
import type { LoadedConfig } from '../config/load-config.ts';
import { WeirError } from '../errors.ts';
import { abortReason } from '../net/read-queue.ts';
import { loadConfigFile, type LoadOptions } from './config-source.ts';
import { attachConfig, type LoadOutcome } from './detached-config.ts';
import { FileLog, TooMuchToReadError } from './file-log.ts';

/** What the thread of a load is started with. */
export interface LoadTask {
  readonly path: string | undefined;
  readonly bytes: Uint8Array | undefined;
  readonly serveApi: boolean;
}

/**
 * More than this, all files together, is loaded in a thread of its own: parsing it would hold up
 * traffic. What is less takes some milliseconds, and starting a thread a hundred.
 */
const SMALL = 256 * 1024;

/**
 * Loads while traffic goes on: small files at once, large ones in another thread, which also builds
 * the tables of the routes. The same errors as of `loadConfigFile` come out of both.
 *
 * @param signal ends the thread
 */
export async function loadAside(
  path: string | undefined,
  options: LoadOptions & { readonly files: FileLog; readonly signal: AbortSignal },
): Promise<LoadedConfig> {
  const { files, bytes, serveApi = true, signal } = options;
  if ((bytes?.length ?? 0) <= SMALL) {
    const read = new FileLog(SMALL);
    try {
      return await loadConfigFile(path, { ...options, files: read });
    } catch (error) {
      if (!(error instanceof TooMuchToReadError)) throw error;
    } finally {
      files.adopt(read.seen);
    }
  }
  const outcome = await inThread({ path, bytes, serveApi }, signal);
  files.adopt(outcome.files);
  return attachConfig(outcome.result);
}

/** Beside this file, whichever of the two it has been compiled to. */
const THREAD = new URL(
  import.meta.url.endsWith('.ts') ? './load-worker.ts' : './load-worker.js',
  import.meta.url,
);

async function inThread(task: LoadTask, signal: AbortSignal): Promise<LoadOutcome> {
  signal.throwIfAborted();
  const { promise, resolve, reject } = Promise.withResolvers<LoadOutcome>();
  const worker = new Worker(THREAD, { workerData: task, execArgv: [] });
  const onAbort = (): void => reject(abortReason(signal));
  signal.addEventListener('abort', onAbort, { once: true });
  worker.on('message', resolve);
  worker.on('error', reject);
  worker.on('exit', () => reject(new WeirError('internal', 'the loading thread ended early')));
  try {
    return await promise;
  } finally {
    signal.removeEventListener('abort', onAbort);
    await worker.terminate();
  }
}
