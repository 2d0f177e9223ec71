/** Threads of libuv's pool, half of which getaddrinfo(3) may hold; by default there are four. */
const THREADS = '16';

/**
 * Gives the process more threads for look-ups by the C library, unless its environment says how
 * many. Without effect once the pool has been used.
 *
 * @param env that of the process, which libuv reads
 */
export function widenThreadPool(env: NodeJS.ProcessEnv): void {
  env['UV_THREADPOOL_SIZE'] ??= THREADS;
}
