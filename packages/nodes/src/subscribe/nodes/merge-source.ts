import { eolNear } from '@weir/config/text';
import { IMPORTED } from '../../import/write/markers.ts';
import { replaceUnprintable } from '@weir/base/printable';
import { removals, withReplacements, type Replacement } from '../files/table-blocks.ts';
import type { Difference } from './difference.ts';
import { markerLine, NEW_FILE, nodesOf, type FileNode, type NodeFile } from './node-file.ts';
import { isLowered, type Trust, type SourceNode } from './node-values.ts';

/** Maximum length of a name, in UTF-16 code units. */
const LONGEST_NAME = 80;

/** Names with a special meaning as a target. */
const RESERVED: readonly string[] = ['direct', 'blackhole', 'default'];

/** Generates unique names for the nodes of a source. */
class NodeNames {
  readonly #source: string;
  readonly #others: ReadonlySet<string>;
  readonly #own: Set<string>;
  /** The next number to try, by the name before it. */
  readonly #numbers = new Map<string, number>();

  /**
   * @param others names of outbounds, of balancers, and of nodes that are not of this source
   * @param own names that nodes of this source keep
   */
  constructor(source: string, others: Iterable<string>, own: Iterable<string>) {
    this.#source = source;
    this.#others = new Set([...RESERVED, ...others]);
    this.#own = new Set(own);
  }

  /**
   * Generates the name of a node that its source calls `there`: the same name if it is free, with the name of the
   * source appended if another node has it, and with a number if this source has used it already.
   */
  next(there: string): string {
    const cleaned = clean(there) || this.#source;
    const base = this.#others.has(cleaned) ? `${cleaned} (${this.#source})` : cleaned;
    let name = base;
    let number = this.#numbers.get(base) ?? 2;
    while (this.#own.has(name) || this.#others.has(name)) name = `${base} ${number++}`;
    this.#numbers.set(base, number);
    this.#own.add(name);
    return name;
  }
}

/** An untrusted name on one line, without control characters and of a limited length. */
const clean = (text: string): string =>
  replaceUnprintable(text.toWellFormed(), () => ' ')
    .trim()
    .slice(0, LONGEST_NAME)
    .toWellFormed()
    .trim();

interface MergeOptions {
  readonly source: string;
  /** Names of the configuration's outbounds and balancers. */
  readonly taken: Iterable<string>;
  /** Names that picks, rules and balancers refer to. */
  readonly inUse: ReadonlySet<string>;
  /** Time of this update, in ISO 8601. */
  readonly now: string;
}

/** The text of a subscribe file after an update, and the changes. */
export interface MergedSource {
  readonly text: string;
  readonly difference: Difference;
  /** Names of the incoming nodes in the file, by index. */
  readonly names: readonly string[];
  /** Imported nodes that now belong to the source. */
  readonly adopted: readonly string[];
  /** New nodes with the same connection as a node that the source does not own. */
  readonly twins: readonly Twin[];
  readonly lowered: readonly LoweredTrust[];
}

/** A node of a source with the same connection as a node of the user, which is left unchanged. */
export interface Twin {
  readonly name: string;
  readonly own: string;
}

/** A node that verifies its server's certificate less strictly than before. */
export interface LoweredTrust {
  readonly name: string;
  readonly before: Trust;
  readonly after: Trust;
}

/**
 * Merges the nodes of one source into a subscribe file, and leaves everything else unchanged, byte for byte.
 *
 * An existing node keeps its name and its place: see `matchNodes`. A node that the source has dropped is removed,
 * unless something refers to it: then it is kept, with a marker, until nothing does. Nodes that neither this source nor
 * `weir import` has written are left unchanged.
 */
export function mergeSource(
  file: NodeFile,
  incoming: readonly SourceNode[],
  { source, taken, inUse, now }: MergeOptions,
): MergedSource {
  const before = nodesOf(file, source);
  const imported = nodesOf(file, IMPORTED);
  const matches = matchNodes(incoming, before, imported);
  const matched = new Set(matches.values());
  const gone = before.filter((node) => !matched.has(node));
  const kept = new Set(gone.filter(({ name }) => inUse.has(name)));
  const removed = gone.filter((node) => !kept.has(node));

  const others = file.nodes.filter(({ marker }) => marker?.source !== source);
  const names = new NodeNames(
    source,
    [...taken, ...file.inlineNames, ...others.filter((node) => !matched.has(node)).map(nameOf)],
    [...matched, ...kept].map(nameOf),
  );

  const replacements: Replacement[] = [];
  const changed: string[] = [];
  const added: string[] = [];
  const addedText: string[] = [];
  const here: string[] = [];
  const twins: Twin[] = [];
  const lowered: LoweredTrust[] = [];
  const own = new Map(
    others
      .filter((node) => isUsers(node) && !matched.has(node))
      .map(({ identity, name }) => [identity, name]),
  );
  for (const [index, node] of incoming.entries()) {
    const old = matches.get(index);
    const name = old?.name ?? names.next(node.there);
    here.push(name);
    const there = node.there === name ? undefined : node.there;
    const marker = markerLine({ source, there });
    if (!old) {
      added.push(name);
      const twin = own.get(node.identity);
      if (twin !== undefined) twins.push({ name, own: twin });
      addedText.push(`${marker}\n${node.text(name)}`);
      continue;
    }
    const isSame = old.content === node.content;
    if (!isSame) changed.push(name);
    if (isLowered(old.trust, node.trust)) {
      lowered.push({ name, before: old.trust, after: node.trust });
    }
    const eol = eolNear(file.text, old.tables);
    const tables = isSame ? tablesText(file, old) : withLineEnds(node.text(name), eol);
    replacements.push({ span: old.span, text: marker + eol + tables });
  }
  for (const node of kept) {
    const marker = markerLine({ ...node.marker, source, goneSince: node.marker?.goneSince ?? now });
    const eol = eolNear(file.text, node.tables);
    replacements.push({ span: node.span, text: marker + eol + tablesText(file, node) });
  }
  replacements.push(
    ...removals(
      file.text,
      removed.map(({ span }) => span),
    ),
  );
  if (addedText.length > 0) replacements.push(insertion(file, before, addedText));

  return {
    text: withReplacements(file.text, replacements),
    difference: {
      added,
      removed: removed.map(nameOf),
      changed,
      kept: [...kept].map(nameOf),
      same: matches.size - changed.length,
    },
    names: here,
    adopted: imported.filter((node) => matched.has(node)).map(nameOf),
    twins,
    lowered,
  };
}

/** Converts the line ends of generated text, which has no multi-line strings. */
const withLineEnds = (text: string, eol: string): string => text.replaceAll(/\r?\n/g, eol);

const nameOf = ({ name }: FileNode): string => name;

/** Whether a node was not written by a source. */
const isUsers = ({ marker }: FileNode): boolean => !marker || marker.source === IMPORTED;

/** The text of a node's tables, without its marker. */
const tablesText = ({ text }: NodeFile, { span, tables }: FileNode): string =>
  text.slice(tables, span.end);

/** Inserts new nodes after the last node of their source, or at the end of the file. */
function insertion(
  { text }: NodeFile,
  before: readonly FileNode[],
  added: readonly string[],
): Replacement {
  const last = before.at(-1);
  const at = last?.span.end ?? text.length;
  const head = text === '' ? NEW_FILE : '';
  const lineEnd = at === 0 || text[at - 1] === '\n' ? '' : '\n';
  const body = added.map((each) => `\n${each}`).join('');
  const inserted = withLineEnds(head + lineEnd + body, eolNear(text, at));
  return { span: { start: at, end: at }, text: inserted };
}

/**
 * Finds for each node that a source sent its previous node in the file, keyed by index. Matches are tried in this
 * order: a node that is equal in everything, the same connection under the same name, the same connection under
 * another name, an imported node that is equal in everything, the same name at the source. Each node of the file is
 * matched at most once. Takes linear time.
 *
 * @param before the nodes of the source
 * @param imported nodes that `weir import` has written and no source has adopted
 */
function matchNodes(
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
