import type { EditedFile } from '@weir/server/edits';
import { encodedLike } from '@weir/config/edit';
import { SubscribeError } from '../errors.ts';
import {
  lockSubscriptions,
  storedChanges,
  nodeFileOf,
  openWorkspace,
  type FileWrite,
  type Workspace,
} from './workspace.ts';
import { problemOfSource, readSources, withSource } from '../files/sources-file.ts';
import { replaceStored } from '../files/stored-file.ts';
import { MOST_SOURCES, type Source } from '../source.ts';
import { updateSource, type SourceOutcome, type UpdatedSource } from './update-source.ts';
import {
  editLine,
  reloadDigest,
  writeState,
  type UpdateRequest,
  type UpdateTools,
} from './update.ts';

export type AddRequest = Pick<UpdateRequest, 'config' | 'dryRun' | 'force'> & {
  readonly source: Source;
};

/**
 * Fetches a new source, and adds it and its nodes. A configuration without `[subscribe]` gets the table.
 * @throws {WeirError} when the source cannot be added or its response is rejected; nothing has changed then, unless the
 * code is `EDIT_WRITTEN`
 */
export async function addSource(request: AddRequest, tools: UpdateTools): Promise<SourceOutcome> {
  const { source, config, dryRun } = request;
  const problem = problemOfSource(source);
  if (problem !== undefined) throw new SubscribeError(problem);
  if (dryRun) return (await fetchNew(request, tools)).updated.outcome;
  const { paths } = await openWorkspace(config, { create: true });
  await using _lock = await lockSubscriptions(paths);
  const { workspace, updated } = await fetchNew(request, tools);
  const { outcome, nodes, state } = updated;
  await tools.apply(`subscribe add: ${editLine(outcome)}`, () =>
    writeOutput(workspace, source, updated.writes),
  );
  await writeState(paths.state, {
    reloaded: reloadDigest(updated.workspace, nodes.text),
    sources: new Map([...workspace.state.sources, [source.name, state]]),
  });
  return outcome;
}

async function fetchNew(
  { config, source, force }: AddRequest,
  { openFetch, now }: UpdateTools,
): Promise<{ readonly workspace: Workspace; readonly updated: UpdatedSource }> {
  const workspace = await openWorkspace(config, { create: true });
  const { sources, paths } = workspace;
  if (sources.some(({ name }) => name === source.name)) {
    throw new SubscribeError(`there is a source ${source.name} already`, {
      hint: `to change it, edit ${paths.sources} and run \`weir subscribe update ${source.name}\``,
    });
  }
  if (sources.length >= MOST_SOURCES) {
    throw new SubscribeError(`there are ${MOST_SOURCES} sources already, which is the limit`);
  }
  await using way = await openFetch(source);
  const updated = await updateSource(workspace, source, await nodeFileOf(workspace), {
    fetch: way.fetch,
    force,
    now: now(),
  });
  if (updated.outcome.error) throw updated.outcome.error;
  return { workspace, updated };
}

/**
 * Writes nodes, the configuration and the sources, in this order: if the process is killed in between, the files are
 * valid, and adding the source again adopts the nodes.
 */
async function writeOutput(
  workspace: Workspace,
  source: Source,
  writes: readonly FileWrite[],
): Promise<Pick<EditedFile, 'changed' | 'undo'>> {
  const { configBytes, isPathNew, paths, sourcesBytes, sourcesText } = workspace;
  const isConfigWritten = !isPathNew || writes.some(({ file }) => file === 'config');
  const sources = withSource(sourcesText, source);
  readSources(sources, paths.sources);
  const { undo } = await replaceStored([
    ...storedChanges(workspace, [
      ...writes,
      ...(isConfigWritten ? [] : [{ file: 'config', bytes: configBytes } as const]),
    ]),
    {
      path: paths.sources,
      before: sourcesBytes,
      after: encodedLike(sourcesBytes ?? new Uint8Array(), sources),
    },
  ]);
  return { changed: true, undo };
}
