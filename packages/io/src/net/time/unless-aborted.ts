import { asError } from '@weir/base';

/** Returns the reason of an aborted signal, as an Error. */
export const abortReason = (signal: AbortSignal): Error => asError(signal.reason);

/**
 * Waits for `promise` until `signal` aborts. The promise itself is not affected, since others may
 * wait for it as well; its later rejection is handled.
 *
 * @param reasonOf the error of an aborted wait; by default the signal's reason.
 */
export function unlessAborted<T>(
  promise: Promise<T>,
  signal: AbortSignal | undefined,
  reasonOf: (signal: AbortSignal) => Error = abortReason,
): Promise<T> {
  if (!signal) return promise;
  const { promise: settled, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = (): void => reject(reasonOf(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort, { once: true });
  const over = (): void => signal.removeEventListener('abort', onAbort);
  promise.then(
    (value) => {
      over();
      resolve(value);
    },
    (error: unknown) => {
      over();
      reject(error);
    },
  );
  return settled;
}
