import { printableJson } from '../../printable.ts';

/*
 * Comments that say what `weir subscribe` may rewrite. What no such comment stands above belongs to the user of the
 * file.
 */

/** In place of a source: written by `weir import`, and no source has sent the same yet. */
export const IMPORTED = '(import)';

/** In place of a source: each of them. */
export const EVERY_SOURCE = '*';

/** Begins the line above a node of a source. */
export const SOURCE_MARKER = '# source: ';

const MAX_SOURCE_NAME = 64;

/** Whether `name` can be the name of a source: letters, digits, `.`, `_` and `-`. */
export const isSourceName = (name: string): boolean =>
  name.length <= MAX_SOURCE_NAME && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name);

/** Which nodes of which sources are members of a balancer. */
export interface FollowMarker {
  /** Names of sources, `EVERY_SOURCE` or `IMPORTED`. */
  readonly sources: readonly string[];
  /** The members of this group, where the list of a source has it; the rest counts where it has not. */
  readonly group?: string | undefined;
  /**
   * Expressions of Rust's regex: nodes whose name at their source matches one of them. Without any, all nodes; beside a
   * group, those alone that are members already.
   */
  readonly filters: readonly string[];
  /** Expressions whose nodes are left out. */
  readonly excluded: readonly string[];
  /** Protocols whose nodes are left out. */
  readonly excludedProtocols: readonly string[];
}

const FOLLOWS = '# follows: ';

/** The longest line of a marker, in UTF-16 units. */
const LONGEST_MARKER = 8192;

const PART_NAMES = ['group', 'filter', 'exclude', 'exclude-protocol'] as const;
type PartName = (typeof PART_NAMES)[number];

/** The line of a marker, without a line end; `undefined` when it would be too long. */
export function followLine(marker: FollowMarker): string | undefined {
  const { sources, group, filters, excluded, excludedProtocols } = marker;
  const parts = (name: PartName, values: readonly string[]): readonly string[] =>
    values.map((value) => `; ${name}: ${printableJson(value)}`);
  const line = [
    FOLLOWS + sources.join(', '),
    ...parts('group', group === undefined ? [] : [group]),
    ...parts('filter', filters),
    ...parts('exclude', excluded),
    ...parts('exclude-protocol', excludedProtocols),
  ].join('');
  return line.length <= LONGEST_MARKER ? line : undefined;
}

const PART = /\s*;\s*([a-z-]{1,32})\s*:\s*("(?:[^"\\]|\\.)*")/y;

/** A line that begins as a marker and is none. */
export interface InvalidMarker {
  readonly problem: string;
}

/** The marker in a line; `undefined` for any other line. */
export function parseFollow(line: string): FollowMarker | InvalidMarker | undefined {
  const text = line.trim();
  const [start = ''] = /^#\s*follows:/.exec(text.slice(0, 64)) ?? [];
  if (start === '') return undefined;
  if (text.length > LONGEST_MARKER)
    return { problem: `it has more than ${LONGEST_MARKER} characters` };
  const found: Record<PartName, string[]> = {
    group: [],
    filter: [],
    exclude: [],
    'exclude-protocol': [],
  };
  const semicolon = text.indexOf(';', start.length);
  const head = semicolon < 0 ? text.slice(start.length) : text.slice(start.length, semicolon);
  const sources = head.split(',').map((name) => name.trim());
  const wrong = sources.find(
    (name) => name !== IMPORTED && name !== EVERY_SOURCE && !isSourceName(name),
  );
  if (wrong !== undefined) return { problem: `${JSON.stringify(wrong)} is no name of a source` };
  for (let at = start.length + head.length; at < text.length; at = PART.lastIndex) {
    PART.lastIndex = at;
    const [, name, value = ''] = PART.exec(text) ?? [];
    const part = PART_NAMES.find((each) => each === name);
    const content = part && stringOf(value);
    if (!part || content === undefined) {
      return {
        problem: `what follows ";" has to be one of ${PART_NAMES.map((each) => `${each}: "…"`).join(', ')}`,
      };
    }
    found[part].push(content);
  }
  return {
    sources,
    group: found.group.at(-1),
    filters: found.filter,
    excluded: found.exclude,
    excludedProtocols: found['exclude-protocol'],
  };
}

function stringOf(json: string): string | undefined {
  try {
    const value: unknown = JSON.parse(json);
    return typeof value === 'string' ? value : undefined;
  } catch {
    return undefined;
  }
}
