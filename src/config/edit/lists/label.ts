import type { Span } from '../../../schema/node.ts';
import { linesAbove, type Gap, type GapLine } from './gap.ts';

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
