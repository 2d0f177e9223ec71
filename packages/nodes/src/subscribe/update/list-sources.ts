import type { Userinfo } from '../answer/userinfo.ts';
import { dueAt, intervalOf, type UpdateFailure } from '../files/state-file.ts';
import { currentNodes, nodesOf } from '../nodes/node-file.ts';
import { hostOf } from '../source.ts';
import { chosenSources, digestOf, nodeFileOf, openWorkspace } from './workspace.ts';

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
