import type { Span } from '@weir/proxy/schema';

/** A line, or the part of one, between two elements: white space, at most one comma, and a comment after it. */
export interface GapLine extends Span {
  readonly comma: number | undefined;
  /** The comment, from its `#` to the line break. */
  readonly comment: Span | undefined;
}

/**
 * The text between two elements of a list. The first line is the rest of the one on which the element before ends; the
 * last one is what precedes the next element on its line. Both are the same if the elements share a line.
 *
 * A comment on the first line belongs to the element before. One in the lines directly above the next element, with no
 * empty line between, belongs to the next element: see `linesAbove`. All others belong to no element. Commas count as
 * white space, so the line of a comma does not matter.
 */
export interface Gap {
  readonly first: GapLine;
  /** All lines of the gap. */
  readonly lines: readonly GapLine[];
  readonly last: GapLine;
  readonly isBroken: boolean;
}

/** Reads a part of a document that contains neither keys nor values. */
export function gapIn(text: string, { start, end }: Span): Gap {
  const lines: GapLine[] = [];
  let at = start;
  for (const line of text.slice(start, end).split('\n')) {
    const [code = ''] = line.split('#', 1);
    const comma = code.indexOf(',');
    const length = line.endsWith('\r') ? line.length - 1 : line.length;
    lines.push({
      start: at,
      end: Math.min(at + line.length + 1, end),
      comma: comma < 0 ? undefined : at + comma,
      comment:
        code.length === line.length ? undefined : { start: at + code.length, end: at + length },
    });
    at += line.length + 1;
  }
  const [first, last] = [lines[0], lines.at(-1)];
  if (!first || !last) throw new RangeError('a text has at least one line');
  return { first, lines, last, isBroken: lines.length > 1 };
}

/** Whether a line contains only white space. */
export const isEmptyLine = ({ comma, comment }: GapLine): boolean =>
  comma === undefined && comment === undefined;

/** Returns the lines of comments and commas directly above the next element, if that element begins its line. */
export function linesAbove({ lines }: Gap): readonly GapLine[] {
  const above = lines.slice(1, -1);
  return above.slice(above.findLastIndex(isEmptyLine) + 1);
}

/** Returns the offset of the comma of a gap. */
export const commaOf = ({ lines }: Gap): number | undefined =>
  lines.find(({ comma }) => comma !== undefined)?.comma;

/**
 * Returns the comment with the label of an element whose table has no key for a name: `# name: ann` on the line on
 * which the element ends, or directly above it.
 */
export const labelComment = (label: string): string => `# ${PREFIX} ${label}`;

const PREFIX = 'name:';

/** Returns the label in a comment, if any. */
export function labelIn(text: string, comment: Span | undefined): string | undefined {
  const content = comment ? text.slice(comment.start + 1, comment.end).trim() : '';
  const label = content.startsWith(PREFIX) ? content.slice(PREFIX.length).trim() : '';
  return label === '' ? undefined : label;
}

/** Returns the label directly above the element after a gap. Of several the last one counts. */
export function labelAbove(text: string, gap: Gap): string | undefined {
  const line = ownLines(text, gap).at(-1);
  return line && labelIn(text, line.comment);
}

/** Returns the lines that are removed with an element after a gap: the labels directly above it. */
export const ownLines = (text: string, gap: Gap): readonly GapLine[] =>
  linesAbove(gap).filter(({ comment }) => labelIn(text, comment) !== undefined);

/** Whether other comments, which stay, are directly above the element after a gap. */
export const hasOtherComments = (text: string, gap: Gap): boolean =>
  linesAbove(gap).some(({ comment }) => comment && labelIn(text, comment) === undefined);
