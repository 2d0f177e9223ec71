import type { SourceText } from '../sources/source-text.ts';
import { inDocument } from './edit-text.ts';
import { removeFromArray } from './lists/array-form.ts';
import { outlineOf, samePath, type KeyEntry, type KeyPath, type Outline } from './outline.ts';
import { deletion, splice, type Splice } from './splice.ts';
import { endsLine, eolNear, lineStart, nextLine } from './toml-text.ts';

/**
 * Removes one key of a TOML document, and leaves every other character unchanged. Its line goes, with the comment
 * after it; in an inline table the key and its comma do. The table stays, even if nothing is left in it.
 *
 * @param sliceLength see `slicesOf`
 * @returns the whole text; the same if it does not have the key
 * @throws {ConfigError} when it is not TOML
 */
export function removeKey(
  source: SourceText,
  table: KeyPath,
  key: string,
  sliceLength?: number,
): string {
  return inDocument(source, () => {
    const path = [...table, key];
    const outline = outlineOf(source.text, path, sliceLength);
    const entry = outline.entries.find((each) => samePath(each.path, path));
    return entry ? splice(source.text, removal(outline, entry)) : source.text;
  });
}

function removal({ text, entries }: Outline, { node, inline }: KeyEntry): readonly Splice[] {
  if (!inline) return [lineOf(text, node.span.start, node.span.end)];
  for (const { node: outer } of entries) {
    const body = outer.table?.body ?? [];
    const index = body.indexOf(node);
    // The keys of an inline table are separated as the elements of an array are.
    if (outer.table && index >= 0) {
      const items = body.map(({ span }) => span);
      return removeFromArray(text, { span: outer.table.span, items }, index);
    }
  }
  throw new RangeError('a key of an inline table is in one');
}

/** The lines of a key. Without the last line, the one before it ends the file as the last one did. */
function lineOf(text: string, from: number, to: number): Splice {
  const start = lineStart(text, from);
  const end = nextLine(text, to);
  const isUnended = end === text.length && !endsLine(text, end) && start > 0;
  return deletion(isUnended ? start - eolNear(text, start).length : start, end);
}
