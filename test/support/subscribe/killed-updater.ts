import { flushCompileCache } from 'node:module';
import { updateSources } from '@weir/nodes/subscribe';

/*
 * `killed-updater.ts CONFIG LIST LIST`: updates the sources of a configuration again and again, each time with
 * the other list, until it is killed.
 */
const [config = '', ...lists] = process.argv.slice(2);

for (let round = 0; ; round++) {
  const body = Buffer.from(lists[round % lists.length] ?? '');
  const outcomes = await updateSources(
    { config, names: [], ifDue: false, dryRun: false, force: false },
    {
      now: () => round,
      openFetch: () =>
        Promise.resolve({
          fetch: ({ url }) =>
            Promise.resolve({ status: 200, headers: new Map([['etag', `"${round}"`]]), body, url }),
          [Symbol.asyncDispose]: () => Promise.resolve(),
        }),
      apply: (_what, write) => write(),
    },
  );
  if (outcomes.some(({ kind }) => kind !== 'updated')) throw new Error(JSON.stringify(outcomes));
  if (round > 0) continue;
  // A process that is killed does not write what it has compiled, for the next one.
  flushCompileCache();
  process.stdout.write('started\n');
}
