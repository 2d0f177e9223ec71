import { encodedLike } from '../../config/edit/edit-text.ts';
import type { StoredChange } from '../files/stored-file.ts';
import type { Workspace } from './workspace.ts';

/** The bytes of the subscribe file with other nodes, in its encoding. */
export const nodesBytesOf = ({ nodesBytes }: Workspace, text: string): Uint8Array =>
  encodedLike(nodesBytes ?? new Uint8Array(), text);

/** New contents of one of the two files. */
export interface FileWrite {
  readonly file: 'nodes' | 'config';
  readonly bytes: Uint8Array;
}

/**
 * The file changes of consecutive writes, ordered so that the files are valid together after each one: a balancer names
 * new nodes after they are added, and nodes are removed after no balancer names them.
 */
export function storedChanges(
  { config, configRead, paths, nodesBytes }: Workspace,
  writes: readonly FileWrite[],
): readonly StoredChange[] {
  const places: Record<FileWrite['file'], Omit<StoredChange, 'after'>> = {
    nodes: { path: paths.nodes, before: nodesBytes, access: { like: config } },
    config: { path: config, before: configRead },
  };
  const changes: StoredChange[] = [];
  for (const [index, { file, bytes }] of writes.entries()) {
    // Of consecutive writes of the same file, the last counts.
    if (writes[index + 1]?.file === file) continue;
    const place = places[file];
    const { before } = place;
    if (Buffer.compare(before ?? new Uint8Array(), bytes) === 0) continue;
    changes.push({ ...place, after: bytes });
    places[file] = { ...place, before: bytes };
  }
  return changes;
}
