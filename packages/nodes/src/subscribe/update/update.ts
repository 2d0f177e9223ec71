import type { EditedFile } from '@weir/server/edits';
import { EDIT_WRITTEN, applyEdit, type EditApplied } from '@weir/client/client/apply-edit';
import { codeOf, WeirError } from '@weir/base';
import type { Fetch } from '../../fetch/contract.ts';
import {
  lockSubscriptions,
  nodesBytesOf,
  storedChanges,
  chosenSources,
  configText,
  digestOf,
  nodeFileOf,
  openWorkspace,
  type FileWrite,
  type Workspace,
} from './workspace.ts';
import { stateText, isDue, type SourceState, type SubscribeState } from '../files/state-file.ts';
import { replaceStored, writeStored } from '../files/stored-file.ts';
import { balancerLine, differenceLine } from '../nodes/difference.ts';
import type { NodeFile } from '../nodes/node-file.ts';
import type { Source } from '../source.ts';
import { followingText } from '../balancers/follow-balancers.ts';
import {
  failureOf,
  idleOutcome,
  refusedOutcome,
  updateSource,
  type SourceOutcome,
  stateOf,
} from './update-source.ts';
import { chooseSocket, findServing } from '@weir/client';

/** The dependencies of an update. */
export interface UpdateTools {
  /** Opens a client for fetching a source. @throws {WeirError} */
  readonly openFetch: (source: Source) => Promise<AsyncDisposable & { readonly fetch: Fetch }>;
  /**
   * Writes by `write` and reloads the running Weir that serves the configuration.
   * @param what description of the edit, in one line
   * @throws {WeirError} with the code `EDIT_WRITTEN` when the files have the edit; otherwise they are unchanged
   */
  readonly apply: (
    what: string,
    write: () => Promise<Pick<EditedFile, 'changed' | 'undo'>>,
  ) => Promise<unknown>;
  /** Returns the current time in Unix milliseconds. */
  readonly now: () => number;
}

export interface UpdateRequest {
  /** The path of the configuration. */
  readonly config: string;
  /** Names of the sources to update; all of them when empty. */
  readonly names: readonly string[];
  /** Whether to skip sources that are not due. */
  readonly ifDue: boolean;
  readonly dryRun: boolean;
  /** Whether to accept responses that lack most of the nodes. */
  readonly force: boolean;
}

/**
 * Updates sources: see docs/nodes.md, "Subscriptions".
 * @throws {WeirError} when nothing could be updated; errors of a single source are in its outcome
 */
export async function updateSources(
  request: UpdateRequest,
  tools: UpdateTools,
): Promise<readonly SourceOutcome[]> {
  if (request.dryRun) return (await prepare(request, tools)).outcomes;
  const { paths } = await openWorkspace(request.config);
  await using _lock = await lockSubscriptions(paths);
  const prepared = await prepare(request, tools);
  return await commit(prepared, tools);
}

interface Prepared {
  readonly workspace: Workspace;
  readonly outcomes: readonly SourceOutcome[];
  readonly nodes: NodeFile;
  readonly writes: readonly FileWrite[];
  readonly states: ReadonlyMap<string, SourceState>;
}

async function prepare(request: UpdateRequest, tools: UpdateTools): Promise<Prepared> {
  let workspace = await openWorkspace(request.config);
  const sources = chosenSources(workspace, request.names);
  const writes: FileWrite[] = [];
  let nodes = await nodeFileOf(workspace);
  const outcomes: SourceOutcome[] = [];
  const states = new Map<string, SourceState>();
  for (const source of sources) {
    const state = workspace.state.sources.get(source.name);
    const now = tools.now();
    if (request.ifDue && !isDue(source, state, now)) {
      outcomes.push(idleOutcome(source.name, 'not_due'));
      continue;
    }
    const updated = await updateOne(workspace, source, nodes, request, tools);
    ({ nodes, workspace } = updated);
    writes.push(...updated.writes);
    outcomes.push(updated.outcome);
    states.set(source.name, updated.state);
  }
  return { workspace, outcomes, nodes, writes, states };
}

async function updateOne(
  workspace: Workspace,
  source: Source,
  nodes: NodeFile,
  { force }: UpdateRequest,
  { openFetch, now }: UpdateTools,
): Promise<Awaited<ReturnType<typeof updateSource>>> {
  try {
    await using client = await openFetch(source);
    return await updateSource(workspace, source, nodes, { fetch: client.fetch, force, now: now() });
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    const state = { ...stateOf(workspace, source), failure: failureOf(error, now()) };
    return { outcome: refusedOutcome(source.name, error), nodes, state, workspace, writes: [] };
  }
}

/**
 * Writes nodes, reloads, and writes the state, in this order: if the process is killed in between, the next update
 * completes it.
 */
async function commit(
  { workspace, outcomes, nodes, writes, states }: Prepared,
  tools: UpdateTools,
): Promise<readonly SourceOutcome[]> {
  const { state, paths } = workspace;
  const digest = reloadDigest(workspace, nodes.text);
  const all = new Map([...state.sources, ...states]);
  const changes = storedChanges(workspace, writes);
  if (changes.length === 0 && state.reloaded === digest) {
    if (states.size > 0) await writeState(paths.state, { reloaded: digest, sources: all });
    return outcomes;
  }
  try {
    await tools.apply(causeOf(outcomes), async () => {
      const { undo } = await replaceStored(changes);
      // A reload is also due when an earlier update was killed between the write and the reload.
      return { changed: true, undo };
    });
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    const isWritten = codeOf(error) === EDIT_WRITTEN;
    const failure = failureOf(error, tools.now());
    const tried = [...states].map(([name, after]) => {
      const { userinfo, updateInterval, url } = after;
      const known = isWritten ? after : state.sources.get(name);
      return [name, { ...known, url, userinfo, updateInterval, failure }] as const;
    });
    // While `reloaded` differs from the digest of the nodes, each update reloads.
    await writeState(paths.state, { ...state, sources: new Map([...state.sources, ...tried]) });
    return outcomes.map((outcome) => {
      if (outcome.kind !== 'updated' && outcome.kind !== 'unchanged') return outcome;
      return isWritten ? { ...outcome, error } : refusedOutcome(outcome.source, error);
    });
  }
  await writeState(paths.state, { reloaded: digest, sources: all });
  return outcomes;
}

export const writeState = (path: string, state: SubscribeState): Promise<void> =>
  writeStored(path, Buffer.from(stateText(state)));

/** Digest in hex of the parts that a reload applies: the nodes, and balancers that follow a source. */
export const reloadDigest = (workspace: Workspace, nodes: string): string => {
  const followers = followingText(configText(workspace));
  return digestOf(Buffer.concat([nodesBytesOf(workspace, nodes), Buffer.from(followers)]));
};

/** The changes of an update, for the description of the edit. */
export const editLine = ({ source, difference, balancers }: SourceOutcome): string =>
  [`${source} ${differenceLine(difference)}`, ...balancers.map(balancerLine)].join(', ');

const LONGEST_CAUSE = 300;

function causeOf(outcomes: readonly SourceOutcome[]): string {
  const changes = outcomes
    .filter(({ kind }) => kind === 'updated' || kind === 'unchanged')
    .map(editLine);
  // Without changes, the nodes that an earlier update has written are not in force yet.
  const text = `subscribe update: ${changes.join('; ') || 'nodes as written before'}`;
  return text.length > LONGEST_CAUSE ? `${text.slice(0, LONGEST_CAUSE)}…` : text;
}

/** The files to update, and the running Weir that serves them. */
interface UpdateTarget {
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
