import type { Span } from '../../../schema/node.ts';
import { lineBreak, lineStart, nextLine } from '../toml-text.ts';

/**
 * The label of an element whose table has no key for a name: a comment `# name: ann` on the line on which the
 * element ends, or in a run of comment lines directly above it.
 */
export const labelComment = (label: string): string => `# ${PREFIX} ${label}`;

const PREFIX = 'name:';

/** The label in a comment that starts with `#`, if it has one. */
function labelIn(comment: string): string | undefined {
  const text = comment.slice(1).trim();
  const label = text.startsWith(PREFIX) ? text.slice(PREFIX.length).trim() : '';
  return label === '' ? undefined : label;
}

/** A label and the comment that it stands in. */
export interface Label {
  readonly text: string;
  /** From the `#` to the end of the line. */
  readonly comment: Span;
}

/** The label in the last comment line of the run directly above the line of `offset`, not above `floor`. */
export const labelAbove = (text: string, offset: number, floor: number): Label | undefined =>
  labelsAbove(text, offset, floor).at(-1);

/** All labels of that run, in document order; only the last one counts. */
export function labelsAbove(text: string, offset: number, floor: number): readonly Label[] {
  const labels: Label[] = [];
  let line = lineStart(text, offset);
  while (line > floor) {
    const above = lineStart(text, line - 1);
    const found = above < floor ? 'none' : labelOn(text, { start: above, end: line });
    if (found === 'none') break;
    if (found !== 'other') labels.push(found);
    line = above;
  }
  return labels.toReversed();
}

/** The label of a line; `other` for another comment, `none` for a line that is not a comment. */
function labelOn(text: string, { start, end }: Span): Label | 'other' | 'none' {
  const line = text.slice(start, end);
  const comment = line.trimStart();
  if (!comment.startsWith('#')) return 'none';
  const label = labelIn(comment);
  if (label === undefined) return 'other';
  const at = start + line.length - comment.length;
  return { text: label, comment: { start: at, end: lineBreak(text, at) } };
}

/**
 * The first label in a part of a document that holds no strings: the comments between two keys, or after the
 * last one.
 */
export function labelWithin(text: string, { start, end }: Span): Label | undefined {
  for (let at = start; at < end; at = nextLine(text, at)) {
    const stop = Math.min(lineBreak(text, at), end);
    const hash = text.slice(at, stop).indexOf('#');
    const label = hash < 0 ? undefined : labelIn(text.slice(at + hash, stop));
    if (label !== undefined) return { text: label, comment: { start: at + hash, end: stop } };
    if (nextLine(text, at) <= at) return undefined;
  }
  return undefined;
}
