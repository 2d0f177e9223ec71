import { outcomesJson } from '../../../packages/weir/src/cli/nodes/subscribe.ts';
import { updateSources } from '@weir/nodes/subscribe';

/*
 * `user-updater.ts CONFIG LIST UID`: updates the sources of a configuration as another user, and prints the outcome
 * as JSON. Whatever the program loads on demand is loaded before, since that user may not read it.
 */
const [config = '', list = '', uid = ''] = process.argv.slice(2);

const update = (dryRun: boolean): ReturnType<typeof updateSources> =>
  updateSources(
    { config, names: [], ifDue: false, dryRun, force: false },
    {
      now: Date.now,
      openFetch: () =>
        Promise.resolve({
          fetch: ({ url }) =>
            Promise.resolve({
              status: 200,
              headers: new Map([['etag', '"1"']]),
              body: Buffer.from(list),
              url,
            }),
          [Symbol.asyncDispose]: () => Promise.resolve(),
        }),
      apply: (_what, write) => write(),
    },
  );

await update(true);
if (process.geteuid?.() === 0) process.setuid?.(Number(uid));
process.stdout.write(outcomesJson(await update(false)));
