import type { FileNode } from './node-file.ts';
import type { SourceNode } from './source-node.ts';

/**
 * Finds for each node that a source sent its previous node in the file, keyed by index. Matches are tried in this
 * order: a node that is equal in everything, the same connection under the same name, the same connection under
 * another name, an imported node that is equal in everything, the same name at the source. Each node of the file is
 * matched at most once. Takes linear time.
 *
 * @param before the nodes of the source
 * @param imported nodes that `weir import` has written and no source has adopted
 */
export function matchNodes(
  incoming: readonly SourceNode[],
  before: readonly FileNode[],
  imported: readonly FileNode[],
): ReadonlyMap<number, FileNode> {
  const matches = new Map<number, FileNode>();
  const free = new Set([...before, ...imported]);
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
  // Otherwise a list with two nodes that differ in their settings alone would exchange them.
  pass(
    before,
    (node) => JSON.stringify([node.content, nameThere(node)]),
    ({ content, there }) => JSON.stringify([content, there]),
  );
  pass(
    before,
    (node) => JSON.stringify([node.identity, nameThere(node)]),
    ({ identity, there }) => JSON.stringify([identity, there]),
  );
  pass(
    before,
    ({ identity }) => identity,
    ({ identity }) => identity,
  );
  // An imported node that the user has edited belongs to the user.
  pass(
    imported,
    (node) => JSON.stringify([node.content, nameThere(node)]),
    ({ content, there }) => JSON.stringify([content, there]),
  );
  pass(
    imported,
    ({ content }) => content,
    ({ content }) => content,
  );
  pass(
    before.filter((node) => nameThere(node) !== ''),
    nameThere,
    ({ there }) => there,
  );
  return matches;
}

/** The name of a node at its source. */
export const nameThere = ({ marker, name }: FileNode): string => marker?.there ?? name;
