import { LockFile } from '../../app/lock-file.ts';

/** The files of a configuration's subscriptions, all in the folder of its subscribe file. */
export interface SubscribePaths {
  /** `[subscribe].path`: the nodes. */
  readonly nodes: string;
  /** The sources that they come from, with their URLs. */
  readonly sources: string;
  /** What is known of the sources: see `SubscribeState`. */
  readonly state: string;
  /** Held by a process that changes one of them. */
  readonly lock: string;
}

const EXTENSION = '.toml';

/** The files that go with a subscribe file: `nodes.toml` has `nodes.sources.toml` and others beside it. */
export function subscribePaths(nodes: string): SubscribePaths {
  const base = nodes.endsWith(EXTENSION) ? nodes.slice(0, -EXTENSION.length) : nodes;
  return {
    nodes,
    sources: `${base}.sources.toml`,
    state: `${base}.state.json`,
    lock: `${base}.lock`,
  };
}

/** Held while the files of subscriptions are changed. @throws {LockError} when another process changes them */
export const lockSubscriptions = ({ lock }: Pick<SubscribePaths, 'lock'>): Promise<LockFile> =>
  LockFile.acquire(lock, { what: 'the subscriptions' });
