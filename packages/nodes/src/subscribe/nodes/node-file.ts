import { lineStart } from '@weir/config/text';
import { printableJson } from '@weir/base/printable';
import { jsonStringIn } from '@weir/base/text/json';
import { protocolName } from '@weir/proxy/protocols';
import type { Span, TableNode } from '@weir/proxy/schema';
import { IMPORTED, isSourceName, SOURCE_MARKER } from '../../import/write/markers.ts';
import { tableBlocks } from '../files/table-blocks.ts';
import {
  contentOf,
  identityOf,
  isProbed,
  nameOfTable,
  type SourceNode,
  stringAt,
  type Trust,
  trustOf,
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
  /** `undefined` for a node that is not from a source. */
  readonly marker: Marker | undefined;
  /** The whole lines of its marker and its tables. */
  readonly span: Span;
  /** Offset of its tables, behind the marker. */
  readonly tables: number;
}

/** A subscribe file as text, with the places of its nodes. */
export interface NodeFile {
  readonly text: string;
  readonly nodes: readonly FileNode[];
  /** Names of nodes in an inline array, which a source cannot adopt. */
  readonly inlineNames: readonly string[];
}

/** The beginning of a new file. */
export const NEW_FILE = `# Nodes of subscriptions. \`weir subscribe update\` replaces every table below a line "# source: …";
# whatever else is here stays as it is.
`;

/**
 * Parses a subscribe file, without its byte order mark.
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

/** The nodes that a source had at its last update, without those kept beyond it. */
export const currentNodes = (file: NodeFile, source: string): readonly FileNode[] =>
  nodesOf(file, source).filter(({ marker }) => marker?.goneSince === undefined);

/** The text of a source's nodes, whose digest is in its state. */
export const sourceText = (file: NodeFile, source: string): string =>
  nodesOf(file, source)
    .map(({ span }) => file.text.slice(span.start, span.end))
    .join('');

/** Converts a node of the file to one that its source has sent unchanged. */
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

/** The comment above a node that names its origin. */
export interface Marker {
  /** The name of the source, or `IMPORTED`. */
  readonly source: string;
  /** When the source dropped the node, which is kept nevertheless; an ISO 8601 time. */
  readonly goneSince?: string | undefined;
  /** The node's name at the source, if it differs from the one in the file. */
  readonly there?: string | undefined;
}

const GONE = '; kept: in use, and gone from the source since ';
const THERE = '; there: ';

/** Formats a marker as a line, without a line end. */
export function markerLine({ source, goneSince, there }: Marker): string {
  const gone = goneSince === undefined ? '' : `${GONE}${goneSince}`;
  return `${SOURCE_MARKER}${source}${gone}${there === undefined ? '' : `${THERE}${printableJson(there)}`}`;
}

/** Parses the marker in a line; `undefined` for any other line. */
export function parseMarker(line: string): Marker | undefined {
  const text = line.trimEnd();
  if (!text.startsWith(SOURCE_MARKER)) return undefined;
  const [head, there] = cut(text.slice(SOURCE_MARKER.length), THERE);
  const [source, goneSince] = cut(head, GONE);
  if (source !== IMPORTED && !isSourceName(source)) return undefined;
  if (there === undefined) return { source, goneSince };
  const name = jsonStringIn(there);
  return name === undefined ? undefined : { source, goneSince, there: name };
}

function cut(text: string, separator: string): readonly [string, string | undefined] {
  const at = text.indexOf(separator);
  return at < 0 ? [text, undefined] : [text.slice(0, at), text.slice(at + separator.length)];
}
