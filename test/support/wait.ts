import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Waiting for things outside this process, which no virtual clock reaches. The limits only turn a
 * hang into a failure that names what was awaited; no test passes or fails by how long it took. On two
 * busy cores the start of a program takes a quarter of a minute.
 */
const PATIENCE_MS = 45_000;

/** `promise`, or a failure that names what did not happen in time. */
export async function within<T>(
  promise: Promise<T>,
  what: string | (() => string),
  patience = PATIENCE_MS,
): Promise<T> {
  const limit = Promise.withResolvers<never>();
  const timer = setTimeout(() => {
    const text = typeof what === 'string' ? what : what();
    limit.reject(new Error(`waited ${patience / 1000} s in vain: ${text}`));
  }, patience);
  try {
    return await Promise.race([promise, limit.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Polls until `check` returns something other than `undefined` or `false`. */
export async function eventually<T>(
  what: string | (() => string),
  check: () => T | false | undefined | Promise<T | false | undefined>,
  patience = PATIENCE_MS,
): Promise<T> {
  const end = performance.now() + patience;
  for (;;) {
    const result = await check();
    if (result !== undefined && result !== false) return result;
    if (performance.now() > end) {
      const text = typeof what === 'string' ? what : what();
      throw new Error(`waited ${patience / 1000} s in vain: ${text}`);
    }
    await sleep(20);
  }
}
