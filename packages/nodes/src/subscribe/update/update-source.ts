import { FileDigests } from '@weir/server/app/loading/file-digests';
import { toLoadResult, toPreparedConfig } from '@weir/server/loading';
import { ConfigError, renderConfigError, defaultPick, picksOf } from '@weir/config';
import { loadConfig, routeReferences } from '@weir/config/load';
import type { ConfigFile, FileReader } from '@weir/config/documents';
import { RegexCache } from '@weir/proxy/names';
import { WeirError } from '@weir/base';
import type { Fetch } from '../../fetch/contract.ts';
import { EVERY_SOURCE, IMPORTED } from '../../import/write/markers.ts';
import { silentLogger } from '@weir/base/log';
import { OwnListeners } from '@weir/io/net/own-listeners';
import { systemClock } from '@weir/io/time';
import { ApplyError } from '@weir/server/supervisor/reload-report';
import { Supervisor } from '@weir/server/supervisor';
import type { UnusedRouting, LeftOut } from '../answer/read-answer.ts';
import { followingBlocks, followingText, followBalancers } from '../balancers/follow-balancers.ts';
import { balancersLostBy } from '../balancers/lost-balancers.ts';
import { RefusedAnswerError, type Source } from '../source.ts';
import type { SourceState } from '../files/state-file.ts';
import { NO_DIFFERENCE, type BalancerChange, type Difference } from '../nodes/difference.ts';
import { mergeSource, type MergedSource } from '../nodes/merge-source.ts';
import {
  asSourceNode,
  currentNodes,
  nodesOf,
  sourceText,
  type NodeFile,
} from '../nodes/node-file.ts';
import type { SourceNode } from '../nodes/node-values.ts';
import { fetchSource, type AnswerHeaders, type FetchedSource } from './fetch-source.ts';
import { lostNotes, nodeNotes, unwritableNote } from './notes.ts';
import {
  nodesBytesOf,
  canWriteConfig,
  configText,
  digestOf,
  parseNodes,
  takenNames,
  withConfigText,
  type FileWrite,
  type Workspace,
} from './workspace.ts';

interface MergedFiles {
  /** The configuration. */
  readonly config: string;
  readonly configBytes: Uint8Array;
  /** The subscribe file, as `[subscribe].path` resolves to it. */
  readonly nodes: string;
  readonly nodesBytes: Uint8Array;
}

/**
 * Checks a configuration together with an unwritten subscribe file, as `--test` does.
 * @throws {ConfigError | ApplyError}
 */
export async function checkMerged(merged: MergedFiles): Promise<void> {
  const { config, configBytes, nodes, nodesBytes } = merged;
  const regexes = new RegexCache();
  const disk = new FileDigests();
  const files: FileReader = {
    read: async (path) => (path === nodes ? nodesBytes : disk.read(path)),
    sha256: (path) => disk.sha256(path),
    isPublic: (path) => disk.isPublic(path),
  };
  const source = { path: config, bytes: configBytes };
  const loaded = await loadConfig(source, files, { regexes, serveApi: true });
  const supervisor = new Supervisor({
    clock: systemClock,
    log: silentLogger,
    regexes,
    ownListeners: new OwnListeners(),
  });
  await supervisor.check(toPreparedConfig(toLoadResult(loaded)));
}

/** The outcome of updating a source. */
export interface SourceOutcome {
  readonly source: string;
  /**
   * `updated`: its nodes are those of the response, whether or not they differ; `unchanged`: the provider reports that
   * nothing has changed; `refused`: its nodes are left unchanged; `not_due`: it was not requested.
   */
  readonly kind: 'updated' | 'unchanged' | 'refused' | 'not_due';
  readonly difference: Difference;
  readonly information: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** Balancers whose members have changed with its nodes. */
  readonly balancers: readonly BalancerChange[];
  /** Names of its nodes that accept any certificate. */
  readonly insecure: readonly string[];
  /** Further remarks, a line each. */
  readonly notes: readonly string[];
  /** Absent without a response, and where balancers follow the source. */
  readonly unused?: UnusedRouting | undefined;
  /** For `refused`, the reason; for other kinds, why it is not known whether the running Weir has loaded the nodes. */
  readonly error?: WeirError | undefined;
}

/** The nodes and the state after updating one source. */
export interface UpdatedSource {
  readonly outcome: SourceOutcome;
  readonly nodes: NodeFile;
  readonly state: SourceState;
  /** The workspace with the updated configuration. */
  readonly workspace: Workspace;
  /** Writes to make, in this order. */
  readonly writes: readonly FileWrite[];
}

interface UpdateSourceOptions {
  readonly fetch: Fetch;
  /** Whether to accept the loss of most nodes. */
  readonly force: boolean;
  /** Current time in Unix milliseconds. */
  readonly now: number;
}

/** Minimum share of nodes that must remain: a response with fewer is rejected. */
const LEAST_SHARE = 0.5;

/**
 * Fetches a source, merges its nodes into `nodes` and checks the result together with the configuration. A rejected
 * response becomes an outcome, and leaves the nodes unchanged.
 */
export async function updateSource(
  workspace: Workspace,
  source: Source,
  nodes: NodeFile,
  options: UpdateSourceOptions,
): Promise<UpdatedSource> {
  const { now } = options;
  const before = stateOf(workspace, source);
  let headers: AnswerHeaders | undefined;
  try {
    const isKnown =
      nodesOf(nodes, source.name).length > 0 &&
      before.nodes === digestOfSource(workspace, nodes, source.name);
    const known = isKnown ? before : undefined;
    const fetched = await fetchSource(source, known, options.fetch);
    headers = fetched.headers;
    if ('refused' in fetched) throw fetched.refused;
    const merged = await merge(workspace, source, nodes, fetched, options);
    const outcome: SourceOutcome = {
      source: source.name,
      kind: fetched.answer ? 'updated' : 'unchanged',
      difference: merged.difference,
      information: fetched.answer?.information ?? [],
      leftOut: fetched.answer?.leftOut ?? [],
      balancers: merged.balancers,
      insecure: merged.insecure,
      notes: merged.notes,
      unused: merged.isFollowed ? undefined : fetched.answer?.unused,
    };
    const validators = fetched.answer ? headers : before;
    return {
      outcome,
      nodes: merged.nodes,
      workspace: merged.workspace,
      writes: merged.writes,
      state: {
        ...withHeaders(before, headers),
        // Without validators the next response is complete, and updates the balancers that could not be changed.
        etag: merged.isComplete ? validators.etag : undefined,
        lastModified: merged.isComplete ? validators.lastModified : undefined,
        nodes: digestOfSource(merged.workspace, merged.nodes, source.name),
        updated: now,
        failure: undefined,
      },
    };
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    return {
      outcome: refusedOutcome(source.name, error),
      nodes,
      workspace,
      writes: [],
      state: { ...withHeaders(before, headers), failure: failureOf(error, now) },
    };
  }
}

/** The state of a source; without that of another URL, which may belong to another account. */
export function stateOf({ state }: Workspace, { name, url: written }: Source): SourceState {
  const url = digestOf(written);
  const stored = state.sources.get(name);
  return stored?.url === url ? stored : { url };
}

/** The outcome of a source whose nodes are left unchanged. */
export const idleOutcome = (source: string, kind: 'refused' | 'not_due'): SourceOutcome => ({
  source,
  kind,
  difference: NO_DIFFERENCE,
  information: [],
  leftOut: [],
  balancers: [],
  insecure: [],
  notes: [],
});

export const refusedOutcome = (source: string, error: WeirError): SourceOutcome => ({
  ...idleOutcome(source, 'refused'),
  error,
});

const LONGEST_MESSAGE = 500;

export const failureOf = ({ message }: WeirError, at: number): SourceState['failure'] => ({
  at,
  message: message.replaceAll('\n', ' ').slice(0, LONGEST_MESSAGE),
});

/** The state with the quota and the interval of a response, also if its nodes are rejected or unchanged. */
const withHeaders = (state: SourceState, headers: AnswerHeaders | undefined): SourceState => ({
  ...state,
  userinfo: headers?.userinfo ?? state.userinfo,
  updateInterval: headers?.updateInterval ?? state.updateInterval,
});

/** Digest of the parts of the files that belong to a source: its nodes, and the balancers that follow it. */
const digestOfSource = (workspace: Workspace, nodes: NodeFile, source: string): string =>
  digestOf(
    sourceText(nodes, source) +
      followingText(configText(workspace), [source, EVERY_SOURCE, IMPORTED]),
  );

interface Merged
  extends
    Pick<UpdatedSource, 'nodes' | 'workspace' | 'writes'>,
    Pick<SourceOutcome, 'difference' | 'balancers' | 'insecure' | 'notes'> {
  /** Whether a balancer follows the source by name. */
  readonly isFollowed: boolean;
  /** Whether all following balancers are up to date, as far as possible. */
  readonly isComplete: boolean;
}

/**
 * Merges the nodes of a response, and then updates the balancers that follow the source, which removes nodes that only
 * those balancers named.
 * @throws {RefusedAnswerError}
 */
async function merge(
  workspace: Workspace,
  source: Source,
  file: NodeFile,
  { answer }: FetchedSource,
  { force, now }: UpdateSourceOptions,
): Promise<Merged> {
  const before = currentNodes(file, source.name);
  const incoming: readonly SourceNode[] =
    answer?.nodes ?? before.map((node) => asSourceNode(file, node));
  if (!force && incoming.length < before.length * LEAST_SHARE) {
    throw new RefusedAnswerError(
      `only ${incoming.length} of ${before.length} nodes would be left`,
      { hint: 'if that is right, `weir subscribe update --force` takes them over' },
    );
  }
  const mergeWithin = (within: Workspace, nodes: NodeFile): MergedSource =>
    mergeSource(nodes, incoming, {
      source: source.name,
      taken: takenNames(within),
      inUse: namesInUse(within.file, nodes),
      now: new Date(now).toISOString(),
    });
  const first = mergeWithin(workspace, file);
  const united = await reparsed(first.text, file, workspace);
  const { names } = first;
  const config = configText(workspace);
  const followed = followBalancers(config, {
    source: source.name,
    nodes: united,
    names,
    // A response without changes has no groups; balancers that follow one keep their members.
    membersOf: (group) => answer?.membersOf(group)?.flatMap((index) => names[index] ?? []),
  });
  const isFollowing = answer !== undefined && followed.text !== config;
  const canFollow = isFollowing && (await canWriteConfig(workspace));
  const isComplete = canFollow || !isFollowing;
  const next = canFollow
    ? await refusing(() => withConfigText(workspace, followed.text))
    : workspace;
  const second = canFollow ? mergeWithin(next, united) : first;
  const nodes = await reparsed(second.text, united, workspace);
  if (canFollow || second.text !== file.text) {
    await refusing(() => checkNodes(next, Buffer.from(second.text)));
  }
  const lost = balancersLostBy(source.name, next.file, nodes);
  const following = canFollow ? configText(next) : config;
  const followers = new Set(followingBlocks(following).map(({ tag }) => tag));
  const insecure = nodesOf(nodes, source.name)
    .filter(({ trust }) => trust === 'any')
    .map(({ name }) => name);
  const pinned = answer?.pinned.flatMap((index) => names[index] ?? []) ?? [];
  return {
    nodes,
    workspace: next,
    writes: [
      { file: 'nodes', bytes: nodesBytesOf(workspace, united.text) },
      ...(canFollow ? [{ file: 'config', bytes: next.configBytes } as const] : []),
      { file: 'nodes', bytes: nodesBytesOf(workspace, nodes.text) },
    ],
    difference: {
      ...first.difference,
      removed: [...new Set([...first.difference.removed, ...second.difference.removed])],
      kept: second.difference.kept,
    },
    balancers: canFollow ? followed.changes : [],
    insecure,
    notes: [
      ...nodeNotes(source.name, first, insecure, pinned),
      ...followed.problems,
      ...(isComplete ? [] : [unwritableNote(workspace.config, followed.changes)]),
      ...(isComplete ? lostNotes(source.name, lost, followers) : []),
    ],
    isFollowed: followingText(following, [source.name]) !== '',
    isComplete,
  };
}

/** Parses a text. @param known a parsed file, which is reused if it has this text */
const reparsed = async (text: string, known: NodeFile, { paths }: Workspace): Promise<NodeFile> =>
  text === known.text ? known : parseNodes(Buffer.from(text), paths.nodes);

/** Checks the configuration with these nodes. @throws {ConfigError | ApplyError} */
export const checkNodes = (
  { config, configBytes, paths }: Workspace,
  nodesBytes: Uint8Array,
): Promise<void> => checkMerged({ config, configBytes, nodes: paths.nodes, nodesBytes });

/** Runs a check. @throws {RefusedAnswerError} in place of its errors */
async function refusing<T>(check: () => Promise<T>): Promise<T> {
  try {
    return await check();
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof ApplyError)) throw error;
    const reason = error instanceof ConfigError ? renderConfigError(error) : error.message;
    throw new RefusedAnswerError(`the configuration would be invalid with these nodes: ${reason}`, {
      cause: error,
    });
  }
}

/**
 * The names that a configuration sends flows to: of picks, of rules, of members of balancers, and of the first node
 * where that is the default route. Removing a node with such a name would reroute flows, or make the configuration
 * invalid.
 */
export function namesInUse(config: ConfigFile, nodes: NodeFile): ReadonlySet<string> {
  const used = new Set<string>();
  for (const { value } of picksOf(config).values()) used.add(value);
  for (const { tag } of routeReferences(config.route)) used.add(tag.value);
  for (const { outbounds } of config.balancer) {
    for (const { value } of outbounds.value) used.add(value);
  }
  const first = nodes.nodes[0]?.name;
  if (!defaultPick(config) && config.outbound.length === 0 && first !== undefined) used.add(first);
  return used;
}
