import type { FileNode } from './node-file.ts';
import type { SourceNode } from './source-node.ts';

/**
 * Finds for each node that a source sent the node of the file that it was before, by its index. In this
 * order: the same connection under the same name, the same connection under another name, the same name at
 * the source. A node of the file is found once. Takes linear time.
 *
 * @param before the nodes of the source
 * @param unmarked nodes that no source has given; those with the same connection are taken over
 */
export function matchNodes(
  incoming: readonly SourceNode[],
  before: readonly FileNode[],
  unmarked: readonly FileNode[],
): ReadonlyMap<number, FileNode> {
  const matches = new Map<number, FileNode>();
  const free = new Set([...before, ...unmarked]);
  const pass = (
    candidates: readonly FileNode[],
    keyOf: (node: FileNode) => string,
    keySought: (node: SourceNode) => string,
  ): void => {
    const byKey = Map.groupBy(
      candidates.filter((node) => free.has(node)),
      keyOf,
    );
    for (const queue of byKey.values()) queue.reverse();
    for (const [index, node] of incoming.entries()) {
      if (matches.has(index)) continue;
      const found = byKey.get(keySought(node))?.pop();
      if (!found) continue;
      matches.set(index, found);
      free.delete(found);
    }
  };
  const both = [...before, ...unmarked];
  pass(
    both,
    (node) => JSON.stringify([node.identity, nameThere(node)]),
    ({ identity, there }) => JSON.stringify([identity, there]),
  );
  pass(
    both,
    ({ identity }) => identity,
    ({ identity }) => identity,
  );
  pass(
    before.filter((node) => nameThere(node) !== ''),
    nameThere,
    ({ there }) => there,
  );
  return matches;
}

/** The name of a node at its source. */
const nameThere = ({ marker, name }: FileNode): string => marker?.there ?? name;
