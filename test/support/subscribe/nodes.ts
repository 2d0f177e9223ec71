import { readAnswer } from '../../../packages/nodes/src/subscribe/answer/read-answer.ts';
import {
  mergeSource,
  type MergedSource,
} from '../../../packages/nodes/src/subscribe/nodes/merge-source.ts';
import { readNodeFile } from '../../../packages/nodes/src/subscribe/nodes/node-file.ts';
import type { SourceNode } from '../../../packages/nodes/src/subscribe/nodes/node-values.ts';

/** A Trojan link; `id` decides on server and password. */
export const link = (name: string, id = name, query = ''): string =>
  `trojan://pw-${encodeURIComponent(id)}@${encodeURIComponent(id).toLowerCase().replaceAll('%', '')}.example:443${query}#${encodeURIComponent(name)}`;

/** The nodes in a list of links. */
export const nodesIn = async (...links: readonly string[]): Promise<readonly SourceNode[]> =>
  (await readAnswer(Buffer.from(links.join('\n')), { fromThisMachine: false })).nodes;

/** Merges the answer of a source into the text of a subscribe file. */
export const merged = async (
  text: string,
  links: readonly string[],
  { source = 'home', taken = [] as string[], inUse = [] as string[], now = 'NOW' } = {},
): Promise<MergedSource> =>
  mergeSource(readNodeFile(text), links.length === 0 ? [] : await nodesIn(...links), {
    source,
    taken,
    inUse: new Set(inUse),
    now,
  });

/** The names of the nodes of a file with their servers, in file order. */
export const namesIn = (text: string): readonly string[] =>
  readNodeFile(text).nodes.map(({ name, identity }) => {
    const [, server] = JSON.parse(identity) as [string, string];
    return `${name}@${server.replace('.example', '')}`;
  });
