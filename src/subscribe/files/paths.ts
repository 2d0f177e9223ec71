import { LockFile } from '../../app/lock-file.ts';

/** The files of a configuration's subscriptions, all in the directory of its subscribe file. */
export interface SubscribePaths {
  /** The subscribe file with the nodes, `[subscribe].path`. */
  readonly nodes: string;
  /** The sources of the nodes, with their URLs. */
  readonly sources: string;
  /** The state of the sources: see `SubscribeState`. */
  readonly state: string;
  /** The lock file of a process that changes these files. */
  readonly lock: string;
}

const EXTENSION = '.toml';

/**
 * The paths of the files that belong to a subscribe file: `nodes.toml` has `nodes.sources.toml` and others beside it.
 */
export function subscribePaths(nodes: string): SubscribePaths {
  const base = nodes.endsWith(EXTENSION) ? nodes.slice(0, -EXTENSION.length) : nodes;
  return {
    nodes,
    sources: `${base}.sources.toml`,
    state: `${base}.state.json`,
    lock: `${base}.lock`,
  };
}

/** Locks the files of subscriptions for a change. @throws {LockError} when another process is changing them */
export const lockSubscriptions = ({ lock }: Pick<SubscribePaths, 'lock'>): Promise<LockFile> =>
  LockFile.acquire(lock, { what: 'the subscriptions' });
