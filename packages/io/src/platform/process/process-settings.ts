import { writeFileSync } from 'node:fs';

/**
 * Sets the process name for `ps`, `top`, `pkill` and the journal, which otherwise show the name of
 * Node's main thread: proc(5), /proc/pid/comm. Unlike `process.title`, does not overwrite the
 * command line.
 */
export function nameProcess(): void {
  if (process.platform !== 'linux') return;
  try {
    writeFileSync('/proc/self/comm', 'weir');
  } catch {
    // Without /proc the name is unchanged.
  }
}

/** Number of threads of libuv's pool, of which getaddrinfo(3) may use half; the default is four. */
const THREADS = '16';

/**
 * Enlarges the thread pool, for look-ups by the C library, unless the environment sets its size.
 * No effect once the pool has been used.
 *
 * @param env the environment of the process, which libuv reads
 */
export function widenThreadPool(env: NodeJS.ProcessEnv): void {
  env['UV_THREADPOOL_SIZE'] ??= THREADS;
}
