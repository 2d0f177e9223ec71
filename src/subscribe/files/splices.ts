import { splice } from '../../config/edit/splice.ts';
import type { Span } from '../../schema/node.ts';

/** A part of a text that is replaced; an insertion where its span is empty. */
export interface Replacement {
  readonly span: Span;
  readonly text: string;
}

/** Applies replacements that do not overlap, in any order; insertions at one place keep their order. */
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

/** A place with the blank line before it, so that removing it leaves no gap. */
export function withBlankLine(text: string, { start, end }: Span): Span {
  for (const blank of ['\n\n', '\n\r\n']) {
    if (text.endsWith(blank, start) && start - blank.length >= 0) {
      return { start: start - blank.length + 1, end };
    }
  }
  return { start, end };
}
