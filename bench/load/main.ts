import { LOADS } from './loads.ts';
import type { Job, Report } from './messages.ts';
import { startOrigin } from './origin.ts';

/**
 * The load generator's process: clients and origin in one, so that on a machine of two cores the
 * contestant has the other. It does one job and waits to be ended.
 *
 * With the argument `origin` it is the far end alone: for loads of which both ends together need more
 * descriptors than one process may have, and in a network of its own, where the address follows.
 */
const report = (message: Report): void => {
  process.send?.(message);
};

process.on('disconnect', () => process.exit());
const origin = await startOrigin(process.argv[3]);
process.on('message', (job: Job | 'discarded') => {
  if (job === 'discarded') {
    report({ kind: 'discarded', bytes: origin.discarded() });
    return;
  }
  LOADS[job.load](job, origin, () => report({ kind: 'begin' })).then(
    (figures) => report({ kind: 'end', figures }),
    (error: unknown) => report({ kind: 'failed', message: String(error) }),
  );
});
report({ kind: 'ready', port: origin.port });
