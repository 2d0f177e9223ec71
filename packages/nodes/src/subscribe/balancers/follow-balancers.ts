import { parseToml } from '@weir/config/toml';
import { RegexCache } from '@weir/proxy/names';
import { WeirError } from '@weir/base';
import {
  EVERY_SOURCE,
  followLine,
  IMPORTED,
  type FollowMarker,
  parseFollow,
  type InvalidMarker,
} from '../../import/write/markers.ts';
import { protocolName } from '@weir/proxy/protocols';
import { withReplacements, type Replacement, tableBlocks } from '../files/table-blocks.ts';
import type { BalancerChange } from '../nodes/difference.ts';
import { nameThere } from '../nodes/merge-source.ts';
import type { FileNode, NodeFile } from '../nodes/node-file.ts';
import { identityOf, stringAt } from '../nodes/node-values.ts';
import {
  gapIn,
  isEmptyLine,
  type Gap,
  type GapLine,
  basicString,
  eolNear,
  indentAt,
  terminalSafe,
  lineBreak,
  lineStart,
} from '@weir/config/text';
import type { ArrayNode, Span } from '@weir/proxy/schema';

/** A balancer of a configuration with a "follows" marker above it, and their places in the text. */
interface FollowingBlock {
  readonly tag: string;
  readonly members: readonly string[];
  /** The array of its members. */
  readonly list: ArrayNode;
  readonly marker: FollowMarker | InvalidMarker;
  /** The span of the marker's line, without a line end. */
  readonly markerSpan: Span;
}

/**
 * The balancers with a `[[balancer]]` header that follow sources, in file order.
 * @throws {TomlError} when it is not TOML
 */
export function followingBlocks(text: string): readonly FollowingBlock[] {
  // Few files have a marker, and parsing a large file takes time.
  if (!text.includes('follows:')) return [];
  return tableBlocks(text, 'balancer').blocks.flatMap(({ span, table }) => {
    const list = table.entries.get('outbounds')?.value;
    const follows = markerAbove(text, span.start);
    if (!follows || list?.kind !== 'array') return [];
    const members = list.items.flatMap((item) => (item.kind === 'string' ? [item.value] : []));
    if (members.length < list.items.length) return [];
    return [{ tag: stringAt(table, 'tag'), members, list, ...follows }];
  });
}

/** The marker in the comment lines directly above an offset, which is the start of a line; the last one of several. */
function markerAbove(
  text: string,
  offset: number,
): Pick<FollowingBlock, 'marker' | 'markerSpan'> | undefined {
  for (let at = offset; at > 0;) {
    const start = lineStart(text, at - 1);
    const markerSpan = { start, end: lineBreak(text, start) };
    const line = text.slice(markerSpan.start, markerSpan.end);
    if (!line.trimStart().startsWith('#')) return undefined;
    const marker = parseFollow(line);
    if (marker) return { marker, markerSpan };
    at = start;
  }
  return undefined;
}

/** The text of the members and markers of balancers that follow a source by one of these names, or any source. */
export const followingText = (text: string, names?: readonly string[]): string =>
  followingBlocks(text)
    .filter(
      ({ marker }) =>
        !names || ('sources' in marker && marker.sources.some((each) => names.includes(each))),
    )
    .map(({ list, markerSpan }) => textOf(text, markerSpan) + textOf(text, list.span))
    .join('');

const textOf = (text: string, { start, end }: Span): string => `${text.slice(start, end)}\n`;

/** A previous member of a balancer, with the new members next to it. */
interface PlannedMember {
  readonly name: string;
  readonly isKept: boolean;
  /** New members directly before it, and in `after` those directly after it. */
  readonly before: readonly string[];
  readonly after: readonly string[];
}

/** The planned members of a balancer. */
interface MemberPlan {
  /** All previous members, in their order. */
  readonly members: readonly PlannedMember[];
  /** New members at the end. */
  readonly last: readonly string[];
  readonly added: readonly string[];
  readonly removed: readonly string[];
}

/**
 * Replaces those members of a balancer that follow a list. Kept members keep their order, which is a failover's order
 * of preference; a new member is inserted after its predecessor in the list. Takes linear time.
 *
 * @param wanted the members according to the list, in its order; distinct
 * @param isOwn whether a member is independent of the list, and is kept
 */
export function planMembers(
  current: readonly string[],
  wanted: readonly string[],
  isOwn: (name: string) => boolean,
): MemberPlan {
  const present = new Set(current);
  const listed = new Set(wanted);
  const added = wanted.filter((name) => !present.has(name));
  const followers = new Map<string | undefined, string[]>();
  let last: string | undefined;
  for (const name of wanted) {
    if (present.has(name)) last = name;
    else append(followers, last, name);
  }
  const firsts = followers.get(undefined) ?? [];
  const at = current.findIndex((name) => !isOwn(name));
  const members = current.map((name, index): PlannedMember => {
    const after = followers.get(name) ?? [];
    followers.delete(name);
    return {
      name,
      isKept: isOwn(name) || listed.has(name),
      before: index === at ? firsts : [],
      after,
    };
  });
  return {
    members,
    last: at < 0 ? firsts : [],
    added,
    removed: members.filter(({ isKept }) => !isKept).map(({ name }) => name),
  };
}

function append<K>(lists: Map<K, string[]>, key: K, item: string): void {
  const list = lists.get(key);
  if (list) list.push(item);
  else lists.set(key, [item]);
}

/** Maximum characters of a list on one line. */
const LONGEST_LINE = 100;

const STEP = '  ';

/**
 * Formats the array of a balancer's members after a change. Kept members keep the comments beside and above them; an
 * array with comments or line breaks gets a line for each member.
 */
function memberList(
  text: string,
  { span, items }: Pick<ArrayNode, 'span' | 'items'>,
  { members, last }: MemberPlan,
): string {
  const bounds = [span.start + 1, ...items.map((item) => item.span.end)];
  const gaps = bounds.map((start, index) =>
    gapIn(text, { start, end: items[index]?.span.start ?? span.end - 1 }),
  );
  const names = [
    ...members.flatMap(({ name, isKept, before, after }) => [
      ...before,
      ...(isKept ? [name] : []),
      ...after,
    ]),
    ...last,
  ];
  const line = `[${names.map(literal).join(', ')}]`;
  const isOnOneLine = gaps.every(({ isBroken, first }) => !isBroken && !first.comment);
  if (isOnOneLine && line.length <= LONGEST_LINE) return line;

  const outer = indentAt(text, span.start);
  const firstBroken = items.find((_, index) => gaps[index]?.isBroken);
  const indent = firstBroken ? indentAt(text, firstBroken.span.start) : outer + STEP;
  const lineOf = (name: string, comment = ''): string => `${indent}${literal(name)},${comment}`;
  const beside = (gap: Gap | undefined): string => commentText(text, gap?.first);
  const above = (gap: Gap | undefined): readonly string[] =>
    (gap?.lines ?? [])
      .slice(1, -1)
      .filter((each) => each.comment ?? isEmptyLine(each))
      .map((each) => (each.comment ? indent + commentText(text, each).trimStart() : ''));
  const lines = [
    `[${beside(gaps[0])}`,
    ...members.flatMap(({ name, isKept, before, after }, index) => [
      ...before.map((each) => lineOf(each)),
      ...above(gaps[index]),
      ...(isKept ? [lineOf(name, beside(gaps[index + 1]))] : []),
      ...after.map((each) => lineOf(each)),
    ]),
    ...above(items.length === 0 ? undefined : gaps.at(-1)),
    ...last.map((each) => lineOf(each)),
    `${outer}]`,
  ];
  return lines.join(eolNear(text, span.start));
}

const literal = (name: string): string => terminalSafe(basicString(name));

/** The comment of a line, after a space; empty if it has none. */
const commentText = (text: string, line: GapLine | undefined): string =>
  line?.comment ? ` ${text.slice(line.comment.start, line.comment.end).trimEnd()}` : '';

export interface FollowedBalancers {
  /** The configuration with changed members. */
  readonly text: string;
  readonly changes: readonly BalancerChange[];
  /** Balancers that cannot be updated, with the reason, a line each. */
  readonly problems: readonly string[];
}

/** The nodes of a source after an update. */
interface FollowedSource {
  readonly source: string;
  /** The subscribe file with these nodes. */
  readonly nodes: NodeFile;
  /** Names in the subscribe file of the source's nodes, in the order of its list. */
  readonly names: readonly string[];
  /**
   * Returns the names in the subscribe file of a list group's members, in their order; `undefined` without the group.
   */
  readonly membersOf: (group: string) => readonly string[] | undefined;
}

/** Compiled expressions, shared within the process: see `RegexCache`. */
const expressions = new RegexCache();

/**
 * Updates the members of the balancers that follow a source to its nodes, and leaves everything else unchanged, byte
 * for byte. A balancer that `weir import` has written follows the first source that has one of its members. A balancer
 * that would have no members is left unchanged.
 *
 * @param text a configuration without its byte order mark
 * @throws {TomlError} when it is not TOML
 */
export function followBalancers(text: string, followed: FollowedSource): FollowedBalancers {
  const blocks = followingBlocks(text);
  if (blocks.length === 0) return { text, changes: [], problems: [] };
  const members = new SourceMembers(followed, ownOutbounds(text));
  const replacements: Replacement[] = [];
  const changes: BalancerChange[] = [];
  const problems: string[] = [];
  for (const block of blocks) {
    const { tag, list, marker, markerSpan } = block;
    const subject = `balancer ${JSON.stringify(tag)}`;
    if ('problem' in marker) {
      problems.push(
        `${subject} stays as it is, since its line "follows" is invalid: ${marker.problem}`,
      );
      continue;
    }
    try {
      const plan = members.planOf(block, marker);
      if (!plan) continue;
      if (plan.added.length > 0 || plan.removed.length > 0) {
        replacements.push({ span: list.span, text: memberList(text, list, plan) });
        changes.push({ tag, added: plan.added, removed: plan.removed });
      }
      const line = followLine(plan.marker);
      if (line !== undefined && plan.marker !== marker) {
        replacements.push({ span: markerSpan, text: line });
      }
    } catch (error) {
      if (!(error instanceof WeirError)) throw error;
      const [reason = ''] = error.message.trim().split('\n').slice(-1);
      problems.push(
        `${subject} stays as it is, since an expression of its line "follows" is invalid: ${reason}`,
      );
    }
  }
  return { text: withReplacements(text, replacements), changes, problems };
}

/** The identities of a configuration's outbounds, by tag. */
function ownOutbounds(text: string): ReadonlyMap<string, string> {
  const list = parseToml(text).entries.get('outbound')?.value;
  const tables = list?.kind === 'array' ? list.items.filter((item) => item.kind === 'table') : [];
  return new Map(tables.map((table) => [stringAt(table, 'tag'), identityOf(table)]));
}

/** Determines which nodes of a source are members of a balancer. */
class SourceMembers {
  readonly #followed: FollowedSource;
  readonly #byName: ReadonlyMap<string, FileNode>;
  /** Identities by name of all possible members. */
  readonly #identities: ReadonlyMap<string, string | undefined>;
  /** Nodes of the source that balancers can have as members. */
  readonly #candidates: readonly FileNode[];

  constructor(followed: FollowedSource, outbounds: ReadonlyMap<string, string>) {
    const { nodes, names } = followed;
    this.#followed = followed;
    this.#byName = new Map(nodes.nodes.map((node) => [node.name, node]));
    this.#identities = new Map<string, string | undefined>([
      ...nodes.inlineNames.map((name) => [name, undefined] as const),
      ...outbounds,
      ...nodes.nodes.map(({ name, identity }) => [name, identity] as const),
    ]);
    this.#candidates = names.flatMap((name) => {
      const node = this.#byName.get(name);
      return node?.isProbed ? [node] : [];
    });
  }

  /**
   * Plans the members of a balancer, and its marker; `undefined` when it follows other sources, or no member would be
   * left.
   * @throws {WeirError} for an invalid expression
   */
  planOf(
    { members }: FollowingBlock,
    marker: FollowMarker,
  ): (ReturnType<typeof planMembers> & { readonly marker: FollowMarker }) | undefined {
    const { source } = this.#followed;
    const { sources } = marker;
    const isNamed = sources.includes(source) || sources.includes(EVERY_SOURCE);
    const isBound = !isNamed && sources.includes(IMPORTED) && this.#hasAny(members);
    if (!isNamed && !isBound) return undefined;
    const isOwn = (name: string): boolean => !this.#isOfSource(name) && this.#identities.has(name);
    const own = new Set(members.filter(isOwn).map((name) => this.#identities.get(name)));
    // A server that is already a member as the user's own outbound is not added again.
    const candidates = this.#candidates.filter(({ identity }) => !own.has(identity));
    const wanted = this.#wanted(candidates, members, marker);
    if (wanted.length === 0 && !members.some(isOwn)) return undefined;
    const plan = planMembers(members, wanted, isOwn);
    return { ...plan, marker: isBound ? this.#bound(marker, members) : marker };
  }

  #wanted(
    candidates: readonly FileNode[],
    members: readonly string[],
    marker: FollowMarker,
  ): readonly string[] {
    const { group, filters } = marker;
    const listed = group === undefined ? undefined : this.#followed.membersOf(group);
    const all = new Set(candidates.map(({ name }) => name));
    if (listed) return [...new Set(listed)].filter((name) => all.has(name));
    if (group !== undefined && filters.length === 0) {
      const present = new Set(members);
      return [...all].filter((name) => present.has(name));
    }
    const isWanted = filterOf(marker);
    return candidates.filter(isWanted).map(({ name }) => name);
  }

  /** Whether a member is a node of the source, or the same server as one. */
  #hasAny(members: readonly string[]): boolean {
    const sent = new Set(this.#candidates.map(({ identity }) => identity));
    return members.some((name) => {
      const identity = this.#identities.get(name);
      return this.#isOfSource(name) || (identity !== undefined && sent.has(identity));
    });
  }

  #isOfSource(name: string): boolean {
    return this.#byName.get(name)?.marker?.source === this.#followed.source;
  }

  /** The marker with this source added; other sources may still have the remaining imported members. */
  #bound(marker: FollowMarker, members: readonly string[]): FollowMarker {
    const isLeft = members.some((name) => this.#byName.get(name)?.marker?.source === IMPORTED);
    const sources = marker.sources.filter((each) => isLeft || each !== IMPORTED);
    return { ...marker, sources: [this.#followed.source, ...sources] };
  }
}

/**
 * A predicate for the nodes that a marker selects by their name at the source.
 *
 * @throws {WeirError} for an invalid expression
 */
function filterOf({
  filters,
  excluded,
  excludedProtocols,
}: FollowMarker): (node: FileNode) => boolean {
  const matcher = (patterns: readonly string[]): ((name: string) => boolean) => {
    if (patterns.length === 0) return () => false;
    const set = expressions.compile([...new Set(patterns)]);
    return (name) => set.matches(name).length > 0;
  };
  const [isIn, isOut] = [matcher(filters), matcher(excluded)];
  const protocols = new Set(excludedProtocols.map((each) => protocolName(each) ?? each));
  return (node) => {
    const name = nameThere(node);
    const isTaken = filters.length === 0 || isIn(name);
    return isTaken && !isOut(name) && !protocols.has(node.protocol);
  };
}
