import { ApplyError } from '../../supervisor/apply-error.ts';
import { ConfigError, renderConfigError } from '../../config/errors.ts';
import { WeirError } from '../../errors.ts';
import type { Fetch } from '../../fetch/contract.ts';
import type { UnusedRouting } from '../answer/read-answer.ts';
import type { LeftOut } from '../answer/source-nodes.ts';
import { RefusedAnswerError } from '../errors.ts';
import type { SourceState } from '../files/state-file.ts';
import { NO_DIFFERENCE, type Difference } from '../nodes/difference.ts';
import type { SourceNode } from '../nodes/source-node.ts';
import { mergeSource } from '../nodes/merge-source.ts';
import {
  asSourceNode,
  currentNodes,
  nodesOf,
  sourceText,
  type NodeFile,
} from '../nodes/node-file.ts';
import type { Source } from '../source.ts';
import { checkMerged } from './check-merged.ts';
import { fetchSource, type AnswerHeaders, type FetchedSource } from './fetch-source.ts';
import { namesInUse } from './names-in-use.ts';
import { nodeNotes } from './notes.ts';
import { digestOf, parseNodes, takenNames, type Workspace } from './workspace.ts';

/** What became of a source. */
export interface SourceOutcome {
  readonly source: string;
  /**
   * `updated`: its nodes are those of the answer, whether or not they differ; `unchanged`: the provider says
   * that nothing has changed; `refused`: its nodes stay as they were; `not_due`: it was not asked.
   */
  readonly kind: 'updated' | 'unchanged' | 'refused' | 'not_due';
  readonly difference: Difference;
  readonly information: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** Names of its nodes that accept any certificate. */
  readonly insecure: readonly string[];
  /** What else there is to say, a line each. */
  readonly notes: readonly string[];
  /** Absent without an answer. */
  readonly unused?: UnusedRouting | undefined;
  /** Why it was refused; of another kind, why it is not known whether the running Weir has loaded its nodes. */
  readonly error?: WeirError | undefined;
}

/** The nodes and the state after the update of one source. */
export interface UpdatedSource {
  readonly outcome: SourceOutcome;
  readonly nodes: NodeFile;
  readonly state: SourceState;
}

export interface UpdateSourceOptions {
  readonly fetch: Fetch;
  /** Accepts the loss of most nodes. */
  readonly force: boolean;
  /** Unix milliseconds. */
  readonly now: number;
}

/** The share of nodes that an update may lose: an answer with fewer than this part is refused. */
const LEAST_SHARE = 0.5;

/**
 * Fetches a source, merges its nodes into `nodes` and checks the result together with the configuration.
 * Whatever is refused becomes an outcome, and leaves the nodes as they are.
 */
export async function updateSource(
  workspace: Workspace,
  source: Source,
  nodes: NodeFile,
  options: UpdateSourceOptions,
): Promise<UpdatedSource> {
  const { now } = options;
  const url = digestOf(source.url);
  const stored = workspace.state.sources.get(source.name);
  // Another URL may be another account.
  const before: SourceState = stored?.url === url ? stored : { url };
  let headers: AnswerHeaders | undefined;
  try {
    const current = sourceText(nodes, source.name);
    const known = current !== '' && before.nodes === digestOf(current) ? before : undefined;
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
      insecure: merged.insecure,
      notes: merged.notes,
      unused: fetched.answer?.unused,
    };
    const validators = fetched.answer ? headers : before;
    return {
      outcome,
      nodes: merged.nodes,
      state: {
        ...withHeaders(before, headers),
        etag: validators.etag,
        lastModified: validators.lastModified,
        nodes: digestOf(sourceText(merged.nodes, source.name)),
        updated: now,
        failure: undefined,
      },
    };
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    return {
      outcome: refusedOutcome(source.name, error),
      nodes,
      state: { ...withHeaders(before, headers), failure: failureOf(error, now) },
    };
  }
}

/** The outcome of a source whose nodes stay as they are. */
export const idleOutcome = (source: string, kind: 'refused' | 'not_due'): SourceOutcome => ({
  source,
  kind,
  difference: NO_DIFFERENCE,
  information: [],
  leftOut: [],
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

/** The quota is taken from every answer, also from one whose nodes are refused or as before. */
const withHeaders = (state: SourceState, headers: AnswerHeaders | undefined): SourceState => ({
  ...state,
  userinfo: headers?.userinfo ?? state.userinfo,
  updateInterval: headers?.updateInterval ?? state.updateInterval,
});

interface Merged {
  readonly nodes: NodeFile;
  readonly difference: Difference;
  readonly insecure: readonly string[];
  readonly notes: readonly string[];
}

/** @throws {RefusedAnswerError} */
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
  const merged = mergeSource(file, incoming, {
    source: source.name,
    taken: takenNames(workspace),
    inUse: namesInUse(workspace.file, file),
    now: new Date(now).toISOString(),
  });
  const { text, difference } = merged;
  const isSame = text === file.text;
  const bytes = Buffer.from(text);
  if (!isSame) await refusing(() => checkNodes(workspace, bytes));
  const nodes = isSame ? file : await parseNodes(bytes, workspace.paths.nodes);
  const insecure = nodesOf(nodes, source.name)
    .filter(({ trust }) => trust === 'any')
    .map(({ name }) => name);
  return { nodes, difference, insecure, notes: nodeNotes(source.name, merged, insecure) };
}

/** Checks the configuration with these nodes. @throws {ConfigError | ApplyError} */
export const checkNodes = (
  { config, configBytes, paths }: Workspace,
  nodesBytes: Uint8Array,
): Promise<void> => checkMerged({ config, configBytes, nodes: paths.nodes, nodesBytes });

/** @throws {RefusedAnswerError} in place of the errors of a check */
async function refusing(check: () => Promise<void>): Promise<void> {
  try {
    await check();
  } catch (error) {
    if (!(error instanceof ConfigError || error instanceof ApplyError)) throw error;
    const reason = error instanceof ConfigError ? renderConfigError(error) : error.message;
    throw new RefusedAnswerError(`the configuration would be invalid with these nodes: ${reason}`, {
      cause: error,
    });
  }
}
