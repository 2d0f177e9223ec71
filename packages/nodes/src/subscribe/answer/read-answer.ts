import { configProblem } from '@weir/server/loading';
import { parseToml } from '@weir/config/toml';
import { messageOf } from '@weir/base';
import { readForeign, type Imported } from '../../import/document.ts';
import { pinOf } from '../../import/entry.ts';
import { isInformation } from '../../import/values/information.ts';
import { problemsIn } from '../../import/write/servers.ts';
import { Targets } from '../../import/write/settle.ts';
import { outboundText } from '../../import/write/tables.ts';
import { formatEndpoint, type Endpoint } from '@weir/io/addresses';
import { quoted } from '@weir/base/printable';
import { ImportError, type Draft } from '@weir/proxy/protocols/forms';
import { loadForms } from '@weir/proxy/protocols';
import { RefusedAnswerError, MOST_NODES } from '../source.ts';
import { contentOf, identityOf, trustOf, type SourceNode } from '../nodes/node-values.ts';

/** The nodes in the response of a source. */
export interface ReadAnswer {
  /** The format of the document, such as `share links`. */
  readonly kind: string;
  readonly nodes: readonly SourceNode[];
  /** Names of entries that are messages about the subscription, and not servers. */
  readonly information: readonly string[];
  readonly leftOut: readonly LeftOut[];
  /** Indexes of nodes whose certificate the list pins to a hash, which Weir does not compare. */
  readonly pinned: readonly number[];
  readonly unused: UnusedRouting;
  /**
   * Returns the indexes of the nodes that a group of the list leads to, in its order; `undefined` without such a group.
   */
  readonly membersOf: (group: string) => readonly number[] | undefined;
}

/** Numbers of a document's parts that are not imported, since only nodes are taken from a source. */
export interface UnusedRouting {
  readonly groups: number;
  readonly rules: number;
}

interface ReadAnswerOptions {
  /** Whether the source is on this machine: its nodes may be on this machine too. */
  readonly fromThisMachine: boolean;
}

/**
 * Reads the nodes of a source's document, in any format that `weir import` reads.
 * @throws {RefusedAnswerError} for any other document, and for a list without a usable node
 */
export async function readAnswer(
  bytes: Uint8Array,
  options: ReadAnswerOptions,
): Promise<ReadAnswer> {
  await loadForms();
  const imported = importedFrom(textOf(bytes));
  const found = sorted(imported, options);
  if (found.drafts.length > MOST_NODES) {
    throw new RefusedAnswerError(`the list has more than ${MOST_NODES} nodes`);
  }
  const { nodes, drafts, refused } = await toSourceNodes(found.drafts);
  const leftOut = [...found.leftOut, ...refused];
  if (nodes.length === 0) throw withoutNodes(imported.kind, found.information, leftOut);
  const unused = { groups: imported.groups.length, rules: imported.rules.length };
  const membersOf = groupReader(imported, drafts);
  const pinned = drafts.flatMap((draft, index) => (pinOf(draft) === undefined ? [] : [index]));
  const { information } = found;
  return { kind: imported.kind, nodes, information, leftOut, pinned, unused, membersOf };
}

/** Creates the `membersOf` of a list. A group within a group stands for its first node, as in `weir import`. */
function groupReader(
  imported: Imported,
  drafts: readonly Draft[],
): (group: string) => readonly number[] | undefined {
  const { entries, groups } = imported;
  const nodes = new Map(drafts.map((draft, index) => [draft, index]));
  const nodeOf = (entry: Imported['entries'][number] | undefined): number | undefined =>
    entry?.draft && nodes.get(entry.draft);
  const problems = new Map(
    entries.flatMap((entry, index) => (nodeOf(entry) === undefined ? [[index, NO_NODE]] : [])),
  );
  const targets = new Targets(imported, problems);
  return (name) =>
    groups
      .find((group) => group.name === name)
      ?.members.flatMap((member) => {
        const settled = targets.settle(member);
        const node = settled.kind === 'server' ? nodeOf(entries[settled.index]) : undefined;
        return node === undefined ? [] : [node];
      });
}

const NO_NODE = 'it is not a node';

/** The text of a response, with U+FFFD for invalid UTF-8. @throws {RefusedAnswerError} */
function textOf(bytes: Uint8Array): string {
  const text = new TextDecoder().decode(bytes).trim();
  if (text === '') throw new RefusedAnswerError('the answer is empty');
  if (text.startsWith('<')) throw webPage(text);
  return text;
}

const LONGEST_TITLE = 80;
/** Number of characters of a web page that are searched for its title. */
const PAGE_START = 16 * 1024;

function webPage(text: string): RefusedAnswerError {
  const start = text.slice(0, PAGE_START);
  const lower = start.toLowerCase();
  const open = lower.indexOf('<title');
  const from = open < 0 ? -1 : lower.indexOf('>', open);
  const to = from < 0 ? -1 : lower.indexOf('</title', from);
  const title =
    to < 0
      ? ''
      : start
          .slice(from + 1, to)
          .trim()
          .slice(0, LONGEST_TITLE);
  const named = title === '' ? '' : ` with the title ${quoted(title)}`;
  return new RefusedAnswerError(`the answer is a web page${named}, not a list of nodes`, {
    hint: 'the URL may have expired; some providers send lists only to the programs they know: see --user-agent',
  });
}

/** Parses a document. @throws {RefusedAnswerError} */
function importedFrom(text: string): Imported {
  try {
    return readForeign(text);
  } catch (error) {
    if (error instanceof ImportError) {
      if (text.includes('\uFFFD')) {
        throw new RefusedAnswerError('the answer is not text: invalid UTF-8', { cause: error });
      }
      throw new RefusedAnswerError(`the answer is not a list of nodes: ${error.message}`, {
        cause: error,
      });
    }
    // Recursive parsers overflow the stack on deeply nested documents.
    if (error instanceof RangeError) {
      throw new RefusedAnswerError('the answer is nested too deeply', { cause: error });
    }
    throw new RefusedAnswerError(`the answer cannot be read: ${messageOf(error)}`, {
      cause: error,
    });
  }
}

interface SortedEntries {
  readonly drafts: readonly Draft[];
  readonly information: readonly string[];
  readonly leftOut: readonly LeftOut[];
}

function sorted({ entries }: Imported, { fromThisMachine }: ReadAnswerOptions): SortedEntries {
  const drafts: Draft[] = [];
  const information: string[] = [];
  const leftOut: LeftOut[] = [];
  for (const { draft, name: entryName, skipped } of entries.map(flat)) {
    if (isInformation(entryName)) information.push(entryName);
    else if (!draft) leftOut.push({ name: entryName, reason: skipped });
    else {
      const place = placeOf(draft);
      // Direct and blocking outbounds are built in.
      if (!place) continue;
      if (isPlaceholder(place.host, place.port, fromThisMachine)) {
        leftOut.push({ name: entryName, reason: 'it is a placeholder: nothing is at its address' });
      } else drafts.push(draft);
    }
  }
  return { drafts, information, leftOut };
}

/** The server of a draft, which for WireGuard is a setting (`host:port`); `undefined` for a draft without one. */
function placeOf({ server, port, settings: { endpoint } }: Draft): Endpoint | undefined {
  if (server !== undefined) return { host: server, port: port ?? 0 };
  if (typeof endpoint !== 'string') return undefined;
  const colon = endpoint.lastIndexOf(':');
  return { host: endpoint.slice(0, colon), port: Number(endpoint.slice(colon + 1)) };
}

interface FlatEntry {
  readonly name: string;
  readonly draft: Draft | undefined;
  readonly skipped: string;
}

const flat = (entry: Imported['entries'][number]): FlatEntry =>
  entry.draft
    ? { name: entry.draft.name, draft: entry.draft, skipped: '' }
    : { name: entry.name, draft: undefined, skipped: entry.skipped };

const SHOWN = 3;

function withoutNodes(
  kind: string,
  information: readonly string[],
  leftOut: readonly LeftOut[],
): RefusedAnswerError {
  const [first] = leftOut;
  if (information.length > 0) {
    const shown = information.slice(0, SHOWN).map((name) => quoted(name.slice(0, LONGEST_TITLE)));
    return new RefusedAnswerError(`the list has no nodes, only messages: ${shown.join(', ')}`);
  }
  if (!first) return new RefusedAnswerError(`there are no nodes in ${kind}`);
  const count = leftOut.length === 1 ? 'the only node' : `none of the ${leftOut.length} nodes`;
  const cannot = leftOut.length === 1 ? 'cannot be used' : 'can be used';
  return new RefusedAnswerError(
    `${count} ${cannot}; ${quoted(first.name.slice(0, LONGEST_TITLE))}: ${first.reason}`,
  );
}

/** An entry that cannot be used as a node, with the reason; the name is untrusted text. */
export interface LeftOut {
  readonly name: string;
  readonly reason: string;
}

interface SourceNodes {
  readonly nodes: readonly SourceNode[];
  /** The draft of each node. */
  readonly drafts: readonly Draft[];
  /** Drafts that Weir's checks reject. */
  readonly refused: readonly LeftOut[];
}

/** Converts drafts to nodes, each checked as an outbound of a configuration. */
async function toSourceNodes(drafts: readonly Draft[]): Promise<SourceNodes> {
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

/** Host names that no provider's server has: placeholders in lists of expired accounts. */
const RESERVED_NAMES: readonly string[] = [
  'localhost',
  'example.com',
  'example.net',
  'example.org',
  'invalid',
];

/**
 * Whether an endpoint is a placeholder that cannot be reached: the unspecified address, a name reserved for
 * documentation (RFC 2606), port 0 or 1, or this machine.
 * @param fromThisMachine whether the list itself comes from this machine, which may then name itself
 */
export function isPlaceholder(server: string, port: number, fromThisMachine: boolean): boolean {
  const host = server.toLowerCase().replace(/\.$/, '');
  if (port <= 1) return true;
  if (host === '0.0.0.0' || host === '::' || host === '255.255.255.255') return true;
  if (fromThisMachine && isThisMachine(host)) return false;
  if (isThisMachine(host)) return true;
  return RESERVED_NAMES.some((name) => host === name || host.endsWith(`.${name}`));
}

/** Whether a host is this machine by a loopback name or address. */
export const isThisMachine = (host: string): boolean =>
  host === 'localhost' ||
  host.endsWith('.localhost') ||
  host === '::1' ||
  /^127\.\d{1,3}\.\d{1,3}\.\d{1,3}$/.test(host);
