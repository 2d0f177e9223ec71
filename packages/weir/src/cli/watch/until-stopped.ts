import { once } from 'node:events';

/** Waits for SIGINT or SIGTERM. A further signal then ends the process, as by default. */
export async function untilStopped(): Promise<void> {
  const waited = new AbortController();
  const { signal } = waited;
  await Promise.race([once(process, 'SIGINT', { signal }), once(process, 'SIGTERM', { signal })]);
  waited.abort();
}
