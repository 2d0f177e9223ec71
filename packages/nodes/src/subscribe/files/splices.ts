import { splice } from '@weir/config/edit';
import { breakBefore, isBlankLine, lineStart } from '@weir/config/text';
import type { Span } from '@weir/proxy/schema';

/** A replacement of a part of a text; an insertion if its span is empty. */
export interface Replacement {
  readonly span: Span;
  readonly text: string;
}

/** Applies non-overlapping replacements, in any order; insertions at the same place keep their order. */
export function withReplacements(text: string, replacements: readonly Replacement[]): string {
  const inOrder = replacements.toSorted((a, b) => a.span.start - b.span.start);
  return splice(
    text,
    inOrder.map(({ span: { start, end }, text: insert }) => ({
      at: start,
      remove: end - start,
      insert,
    })),
  );
}

/**
 * Removes whole lines with the blank line before them, so that no gap remains. A comment above them is kept, separated
 * by a blank line from the text that follows.
 */
export function removals(text: string, spans: readonly Span[]): readonly Replacement[] {
  const joined: Span[] = [];
  for (const span of spans.toSorted((a, b) => a.start - b.start)) {
    const last = joined.at(-1);
    if (last && text.slice(last.end, span.start).trim() === '') {
      joined[joined.length - 1] = { start: last.start, end: span.end };
    } else joined.push(span);
  }
  return joined.map((span) => ({ span: withBlankLine(text, span), text: '' }));
}

function withBlankLine(text: string, { start, end }: Span): Span {
  if (isCommentBefore(text, start) && !isBlankLine(text, end)) {
    const isApart = isBlankLine(text, lineStart(text, start - 1));
    return { start, end: isApart ? end : end - breakBefore(text, end).length };
  }
  for (const blank of ['\n\n', '\n\r\n']) {
    if (text.endsWith(blank, start) && start - blank.length >= 0) {
      return { start: start - blank.length + 1, end };
    }
  }
  return { start, end };
}

/** Whether the last non-blank line before `offset` is a comment. */
function isCommentBefore(text: string, offset: number): boolean {
  const before = text.slice(0, offset).trimEnd();
  return before.slice(lineStart(before, before.length)).trimStart().startsWith('#');
}
