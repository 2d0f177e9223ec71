import { encodedLike } from '@weir/config/edit';
import type { WeirError } from '@weir/base';
import { SubscribeError } from '../errors.ts';
import {
  lockSubscriptions,
  nodesBytesOf,
  storedChanges,
  chosenSources,
  nodeFileOf,
  openWorkspace,
  parseNodes,
  takenNames,
} from './workspace.ts';
import { withoutSource } from '../files/sources-file.ts';
import { withReplacements } from '../files/splices.ts';
import { replaceStored } from '../files/stored-file.ts';
import { mergeSource } from '../nodes/merge-source.ts';
import { nodesOf, type NodeFile } from '../nodes/node-file.ts';
import { namesInUse, checkNodes } from './update-source.ts';
import { reloadDigest, writeState, type UpdateTools } from './update.ts';

export interface RemoveRequest {
  /** The path of the configuration. */
  readonly config: string;
  readonly name: string;
  readonly dryRun: boolean;
  /** Whether to keep nodes that are in use, without a source, instead of failing. */
  readonly force: boolean;
}

export interface RemovedSource {
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
