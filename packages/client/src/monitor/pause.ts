import type { Clock } from '@weir/io/time';

/** Waits; returns early, without an error, when `signal` aborts. */
export function pause(clock: Clock, milliseconds: number, signal: AbortSignal): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  if (signal.aborted) return Promise.resolve();
  const end = (): void => {
    timer.cancel();
    signal.removeEventListener('abort', end);
    resolve();
  };
  const timer = clock.after(milliseconds, end);
  signal.addEventListener('abort', end);
  return promise;
}
