import { applyEdit, type EditApplied } from '@weir/client/client/apply-edit';
import { chooseSocket, findServing } from '@weir/client';
import { codeOf } from '@weir/base';
import type { Fetch } from '../../fetch/contract.ts';
import type { Source } from '../source.ts';
import type { UpdateTools } from './update.ts';

/** The files to update, and the running Weir that serves them. */
export interface UpdateTarget {
  /** The path of the configuration. */
  readonly config: string;
  /** The value of `--socket`. */
  readonly socket: string | undefined;
  readonly io: {
    readonly stderr: NodeJS.WritableStream;
    readonly env: Readonly<Record<string, string | undefined>>;
  };
  /** Called with notes on how a source is fetched. */
  readonly onFetch?: (source: Source, notes: readonly string[]) => void;
  readonly onApplied?: (applied: EditApplied) => void;
}

/**
 * The dependencies of updates: sources are fetched directly or through their outbound, and the Weir that serves the
 * files is reloaded.
 */
export const updateTools = (target: UpdateTarget): UpdateTools => ({
  now: Date.now,
  openFetch: (source) => openSource(source, target),
  apply: async (what, write) => {
    const { config, socket, io, onApplied } = target;
    try {
      const applied = await applyEdit({ config, what, write }, { socket, io });
      onApplied?.(applied);
    } catch (error) {
      // The process has kept its configuration; after the old files are restored, a reload makes their state current.
      // If the process has ended, its next start reads them.
      if (codeOf(error) === 'edit_refused') await reloadAgain(target).catch(() => undefined);
      throw error;
    }
  },
});

async function openSource(
  source: Source,
  { config, socket, io: { env }, onFetch }: UpdateTarget,
): Promise<AsyncDisposable & { readonly fetch: Fetch }> {
  const { openFetch } = await import('../../fetch/open-fetch.ts');
  const { outbound } = source;
  const running = outbound === undefined ? undefined : await chooseSocket({ socket, env }, config);
  const opened = await openFetch({ outbound, config, socket: running });
  onFetch?.(source, opened.notes);
  // Keeps the process alive, which some timers of dials do not.
  const alive = setInterval(() => undefined, 2 ** 30);
  return {
    fetch: opened.fetch,
    [Symbol.asyncDispose]: async () => {
      clearInterval(alive);
      await opened[Symbol.asyncDispose]();
    },
  };
}

async function reloadAgain({ config, socket, io: { env } }: UpdateTarget): Promise<void> {
  const serving = await findServing(config, { socket, env });
  await serving?.reload('subscribe: the nodes from before, since the new ones were refused');
}
