import { printableJson } from '@weir/base/printable';
import { jsonStringIn } from '@weir/base/text/json';

/*
 * Comments that mark what `weir subscribe` may rewrite. Everything without such a comment belongs to the user of the
 * file.
 */

/** In place of a source's name: written by `weir import`, and not adopted by a source yet. */
export const IMPORTED = '(import)';

/** In place of a source's name: every source. */
export const EVERY_SOURCE = '*';

/** Beginning of the line above a node of a source. */
export const SOURCE_MARKER = '# source: ';

const MAX_SOURCE_NAME = 64;

/** Whether `name` is valid for a source: letters, digits, `.`, `_` and `-`. */
export const isSourceName = (name: string): boolean =>
  name.length <= MAX_SOURCE_NAME && /^[A-Za-z0-9][A-Za-z0-9._-]*$/.test(name);

/** The nodes of sources that are members of a balancer. */
export interface FollowMarker {
  /** Names of sources, `EVERY_SOURCE` or `IMPORTED`. */
  readonly sources: readonly string[];
  /** The group of a source's list whose members are used, if the list has it; otherwise the remaining fields apply. */
  readonly group?: string | undefined;
  /**
   * Expressions of Rust's regex, one of which a node's name at its source must match. Without any, all nodes match; in
   * combination with a group, only those that are members already.
   */
  readonly filters: readonly string[];
  /** Expressions whose nodes are excluded. */
  readonly excluded: readonly string[];
  /** Protocols whose nodes are excluded. */
  readonly excludedProtocols: readonly string[];
}

const FOLLOWS = '# follows: ';

/** Maximum length of a marker's line, in UTF-16 code units. */
const LONGEST_MARKER = 8192;

const PART_NAMES = ['group', 'filter', 'exclude', 'exclude-protocol'] as const;
type PartName = (typeof PART_NAMES)[number];

/** Formats a marker as a line, without a line end; `undefined` when it would be too long. */
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

/** A line that begins as a marker and is invalid. */
export interface InvalidMarker {
  readonly problem: string;
}

/** Parses the marker in a line; `undefined` for any other line. */
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
  if (wrong !== undefined)
    return { problem: `${JSON.stringify(wrong)} is not the name of a source` };
  for (let at = start.length + head.length; at < text.length; at = PART.lastIndex) {
    PART.lastIndex = at;
    const [, name, value = ''] = PART.exec(text) ?? [];
    const part = PART_NAMES.find((each) => each === name);
    const content = part && jsonStringIn(value);
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
