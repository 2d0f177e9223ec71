import { lineStart } from '../../config/edit/toml-text.ts';
import type { Span, TableNode } from '../../schema/node.ts';
import { tableBlocks } from '../files/table-blocks.ts';
import type { SourceNode } from './source-node.ts';
import { parseMarker, type Marker } from './marker.ts';
import { protocolName } from '../../protocols/registry.ts';
import {
  contentOf,
  identityOf,
  isProbed,
  nameOfTable,
  stringAt,
  trustOf,
  type Trust,
} from './node-values.ts';

/** A node of the subscribe file. */
export interface FileNode {
  readonly name: string;
  /** See `identityOf`. */
  readonly identity: string;
  /** See `contentOf`. */
  readonly content: string;
  readonly trust: Trust;
  readonly protocol: string;
  /** See `isProbed`. */
  readonly isProbed: boolean;
  /** `undefined` for a node that no source has given. */
  readonly marker: Marker | undefined;
  /** Its marker and its tables, whole lines. */
  readonly span: Span;
  /** Where its tables begin, behind the marker. */
  readonly tables: number;
}

/** A subscribe file as text, with the places of its nodes. */
export interface NodeFile {
  readonly text: string;
  readonly nodes: readonly FileNode[];
  /** Names of nodes that are written in brackets, and so cannot be taken over by a source. */
  readonly inlineNames: readonly string[];
}

/** What a new file begins with. */
export const NEW_FILE = `# Nodes of subscriptions. \`weir subscribe update\` replaces every table below a line "# source: …";
# whatever else is here stays as it is.
`;

/**
 * Reads a subscribe file, without its byte order mark.
 * @throws {TomlError} when it is not TOML
 */
export function readNodeFile(text: string): NodeFile {
  const { blocks, inline } = tableBlocks(text, 'proxy_server');
  return {
    text,
    nodes: blocks.map(({ span, table }) => fileNode(text, span, table)),
    inlineNames: inline.map(nameOfTable),
  };
}

function fileNode(text: string, { start, end }: Span, table: TableNode): FileNode {
  const lineAbove = start === 0 ? 0 : lineStart(text, start - 1);
  const protocol = stringAt(table, 'protocol');
  const marker = parseMarker(text.slice(lineAbove, start));
  return {
    name: nameOfTable(table),
    identity: identityOf(table),
    content: contentOf(table),
    trust: trustOf(table),
    protocol: protocolName(protocol) ?? protocol,
    isProbed: isProbed(table),
    marker,
    span: { start: marker ? lineAbove : start, end },
    tables: start,
  };
}

/** The nodes of one source, in file order. */
export const nodesOf = ({ nodes }: NodeFile, source: string): readonly FileNode[] =>
  nodes.filter(({ marker }) => marker?.source === source);

/** Nodes of a source that it had at its last update: those kept beyond that are not counted. */
export const currentNodes = (file: NodeFile, source: string): readonly FileNode[] =>
  nodesOf(file, source).filter(({ marker }) => marker?.goneSince === undefined);

/** The text of a source's nodes, which its state has a digest of. */
export const sourceText = (file: NodeFile, source: string): string =>
  nodesOf(file, source)
    .map(({ span }) => file.text.slice(span.start, span.end))
    .join('');

/** A node of the file as if its source had sent it again. */
export const asSourceNode = (
  { text }: NodeFile,
  { name, identity, content, trust, marker, span, tables }: FileNode,
): SourceNode => ({
  there: marker?.there ?? name,
  identity,
  content,
  trust,
  text: () => text.slice(tables, span.end),
});
