import { once } from 'node:events';

/** Waits for SIGINT or SIGTERM. Another one of them then ends the process, as by default. */
export async function untilStopped(): Promise<void> {
  const waited = new AbortController();
  const { signal } = waited;
  await Promise.race([once(process, 'SIGINT', { signal }), once(process, 'SIGTERM', { signal })]);
  waited.abort();
}
