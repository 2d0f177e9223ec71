import { abortedDial } from '../net/errors.ts';

/**
 * Waits for `promise` until `signal` says otherwise. The promise itself goes on: others may wait
 * for it too, and its failure is nobody's surprise.
 *
 * @throws {DialError} what the signal's reason means for a dial.
 */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (!signal) return promise;
  const { promise: settled, resolve, reject } = Promise.withResolvers<T>();
  const onAbort = (): void => reject(abortedDial(signal));
  if (signal.aborted) onAbort();
  else signal.addEventListener('abort', onAbort);
  void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', onAbort));
  return settled;
}
