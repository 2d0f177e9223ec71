import { configProblem } from '../../app/loading/config-problem.ts';
import { parseToml } from '../../config/toml/parse.ts';
import type { Draft } from '../../protocols/forms/draft.ts';
import { problemsIn } from '../../import/write/check.ts';
import { outboundText } from '../../import/write/tables.ts';
import { formatEndpoint } from '../../net/addresses/address.ts';
import type { SourceNode } from '../nodes/source-node.ts';
import { contentOf, identityOf, trustOf } from '../nodes/node-values.ts';

/** An entry that cannot be used as a node, with the reason; the name is untrusted text. */
export interface LeftOut {
  readonly name: string;
  readonly reason: string;
}

export interface SourceNodes {
  readonly nodes: readonly SourceNode[];
  /** The draft of each node. */
  readonly drafts: readonly Draft[];
  /** Drafts that Weir's checks reject. */
  readonly refused: readonly LeftOut[];
}

/** Converts drafts to nodes, each checked as an outbound of a configuration. */
export async function toSourceNodes(drafts: readonly Draft[]): Promise<SourceNodes> {
  const numbered = drafts.map((draft, index) => ({ tag: `node ${index}`, draft }));
  const problems = await problemsIn(
    numbered,
    (some) => some.map(({ tag, draft }) => outboundText(tag, draft)).join(''),
    configProblem,
  );
  const valid = numbered.filter((each) => !problems.has(each));
  return {
    nodes: valid.map(({ draft }) => toSourceNode(draft)),
    drafts: valid.map(({ draft }) => draft),
    refused: Array.from(problems, ([{ draft }, reason]) => ({ name: draft.name, reason })),
  };
}

function toSourceNode(draft: Draft): SourceNode {
  const text = (name: string): string => outboundText(name, draft, 'node');
  const list = parseToml(text('')).entries.get('proxy_server')?.value;
  const [table] = list?.kind === 'array' ? list.items : [];
  if (table?.kind !== 'table') throw new Error('a draft was not written as a node');
  const { name, server, port, protocol } = draft;
  const place = server === undefined ? protocol : formatEndpoint({ host: server, port: port ?? 0 });
  return {
    there: name.trim() === '' ? place : name,
    identity: identityOf(table),
    content: contentOf(table),
    trust: trustOf(table),
    text,
  };
}
