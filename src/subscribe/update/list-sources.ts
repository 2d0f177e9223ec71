import type { Userinfo } from '../answer/userinfo.ts';
import type { UpdateFailure } from '../files/state-file.ts';
import { currentNodes, nodesOf } from '../nodes/node-file.ts';
import { hostOf } from '../source.ts';
import { dueAt, intervalOf } from './due.ts';
import { chosenSources, digestOf, nodeFileOf, openWorkspace } from './workspace.ts';

/** A source as it can be shown: without its URL. Times are Unix milliseconds. */
export interface ListedSource {
  readonly name: string;
  /** The host of its URL. */
  readonly host: string;
  readonly outbound: string | undefined;
  /** Nodes that it had at the last update. */
  readonly nodes: number;
  /** Nodes that it has no more, kept because they are in use. */
  readonly kept: number;
  readonly updated: number | undefined;
  /** 0 if it never was updated. */
  readonly due: number;
  /** Seconds. */
  readonly interval: number;
  readonly userinfo: Userinfo | undefined;
  readonly failure: UpdateFailure | undefined;
}

/** What is known of all sources. @throws {WeirError} */
export async function listSources(config: string): Promise<readonly ListedSource[]> {
  const workspace = await openWorkspace(config);
  const file = await nodeFileOf(workspace);
  return chosenSources(workspace, []).map((source) => {
    const stored = workspace.state.sources.get(source.name);
    const state = stored?.url === digestOf(source.url) ? stored : undefined;
    const nodes = currentNodes(file, source.name).length;
    return {
      name: source.name,
      host: hostOf(source),
      outbound: source.outbound,
      nodes,
      kept: nodesOf(file, source.name).length - nodes,
      updated: state?.updated,
      due: dueAt(source, state),
      interval: intervalOf(source, state),
      userinfo: state?.userinfo,
      failure: state?.failure,
    };
  });
}
