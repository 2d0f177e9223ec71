import type { EditedFile } from '@weir/server/edits';
import { encodedLike } from '@weir/config/edit';
import { SubscribeError, MOST_SOURCES, type Source, hostOf } from '../source.ts';
import {
  lockSubscriptions,
  storedChanges,
  nodeFileOf,
  openWorkspace,
  type FileWrite,
  type Workspace,
  nodesBytesOf,
  chosenSources,
  parseNodes,
  takenNames,
} from './workspace.ts';
import { problemOfSource, readSources, withSource, withoutSource } from '../files/sources-file.ts';
import { replaceStored } from '../files/stored-file.ts';
import {
  updateSource,
  type SourceOutcome,
  type UpdatedSource,
  namesInUse,
  checkNodes,
  stateOf,
} from './update-source.ts';
import {
  editLine,
  reloadDigest,
  writeState,
  type UpdateRequest,
  type UpdateTools,
} from './update.ts';
import type { WeirError } from '@weir/base';
import { withReplacements } from '../files/table-blocks.ts';
import { mergeSource } from '../nodes/merge-source.ts';
import { nodesOf, type NodeFile, currentNodes } from '../nodes/node-file.ts';
import { type Userinfo, dueAt, intervalOf, type UpdateFailure } from '../files/state-file.ts';

type AddRequest = Pick<UpdateRequest, 'config' | 'dryRun' | 'force'> & {
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
  await using client = await openFetch(source);
  const updated = await updateSource(workspace, source, await nodeFileOf(workspace), {
    fetch: client.fetch,
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

interface RemoveRequest {
  /** The path of the configuration. */
  readonly config: string;
  readonly name: string;
  readonly dryRun: boolean;
  /** Whether to keep nodes that are in use, without a source, instead of failing. */
  readonly force: boolean;
}

interface RemovedSource {
  readonly removed: readonly string[];
  /** Nodes that are in use, and now belong to no source. */
  readonly kept: readonly string[];
}

/**
 * Removes a source with its nodes.
 * @throws {WeirError} when it cannot be removed; nothing has changed then, unless the code is `EDIT_WRITTEN`
 */
export async function removeSource(
  request: RemoveRequest,
  tools: Pick<UpdateTools, 'apply' | 'now'>,
): Promise<RemovedSource> {
  const { config, name, force, dryRun } = request;
  const { paths } = await openWorkspace(config);
  await using _lock = dryRun ? undefined : await lockSubscriptions(paths);
  const workspace = await openWorkspace(config);
  chosenSources(workspace, [name]);
  const { sourcesBytes = new Uint8Array() } = workspace;
  const sourcesText = withoutSource(workspace.sourcesText, name, paths.sources);

  const file = await nodeFileOf(workspace);
  const inUse = namesInUse(workspace.file, file);
  const used = nodesOf(file, name).filter((node) => inUse.has(node.name));
  if (used.length > 0 && !force)
    throw stillUsed(
      name,
      used.map((node) => node.name),
    );
  const own = await withoutMarkers(file, name, inUse, paths.nodes);
  const { text, difference } = mergeSource(own, [], {
    source: name,
    taken: takenNames(workspace),
    inUse,
    now: new Date(tools.now()).toISOString(),
  });
  const bytes = nodesBytesOf(workspace, text);
  await checkNodes(workspace, bytes);
  const outcome = { removed: difference.removed, kept: used.map((node) => node.name) };
  if (dryRun) return outcome;

  await tools.apply(`subscribe remove: ${name} −${difference.removed.length}`, async () => {
    const { undo } = await replaceStored([
      ...storedChanges(workspace, [{ file: 'nodes', bytes }]),
      { path: paths.sources, before: sourcesBytes, after: encodedLike(sourcesBytes, sourcesText) },
    ]);
    return { changed: true, undo };
  });
  const sources = new Map(workspace.state.sources);
  sources.delete(name);
  await writeState(paths.state, { reloaded: reloadDigest(workspace, text), sources });
  return outcome;
}

const SHOWN = 5;

function stillUsed(name: string, nodes: readonly string[]): WeirError {
  const shown = nodes.slice(0, SHOWN).map((node) => JSON.stringify(node));
  const more = nodes.length > SHOWN ? ` and ${nodes.length - SHOWN} more` : '';
  return new SubscribeError(`nodes of ${name} are in use: ${shown.join(', ')}${more}`, {
    hint: 'pick others first, or keep these as nodes of your own with --force',
  });
}

/** The file with the nodes in use detached from the source. */
function withoutMarkers(
  file: NodeFile,
  source: string,
  inUse: ReadonlySet<string>,
  path: string,
): Promise<NodeFile> {
  const text = withReplacements(
    file.text,
    nodesOf(file, source)
      .filter(({ name }) => inUse.has(name))
      .map(({ span, tables }) => ({ span: { start: span.start, end: tables }, text: '' })),
  );
  return parseNodes(Buffer.from(text), path);
}

/** A source without its URL, as it can be shown. Times are Unix milliseconds. */
export interface ListedSource {
  readonly name: string;
  /** The host of its URL. */
  readonly host: string;
  readonly outbound: string | undefined;
  /** Number of nodes at the last update. */
  readonly nodes: number;
  /** Number of nodes that the source no longer has, kept because they are in use. */
  readonly kept: number;
  readonly updated: number | undefined;
  /** When the source is due for an update; 0 if it was never updated. */
  readonly due: number;
  /** Update interval in seconds. */
  readonly interval: number;
  readonly userinfo: Userinfo | undefined;
  readonly failure: UpdateFailure | undefined;
}

/** Lists all sources with their state. @throws {WeirError} */
export async function listSources(config: string): Promise<readonly ListedSource[]> {
  const workspace = await openWorkspace(config);
  const file = await nodeFileOf(workspace);
  return chosenSources(workspace, []).map((source) => {
    const state = stateOf(workspace, source);
    const nodes = currentNodes(file, source.name).length;
    return {
      name: source.name,
      host: hostOf(source),
      outbound: source.outbound,
      nodes,
      kept: nodesOf(file, source.name).length - nodes,
      updated: state.updated,
      due: dueAt(source, state),
      interval: intervalOf(source, state),
      userinfo: state.userinfo,
      failure: state.failure,
    };
  });
}
