import { editText, inDocument } from './edit-text.ts';
import { setString } from './set-string.ts';
import type { SourceText } from '../sources/source-text.ts';
import { removeFromArray } from './lists/array-form.ts';
import { gapIn } from './lists/gap.ts';
import { outlineOf, samePath, type KeyEntry, type KeyPath, type Outline } from './outline.ts';
import { linesDeletion, splice, type Splice, lineStart, nextLine } from './toml-text.ts';

/**
 * Removes one key of a TOML document, and leaves every other character unchanged. Removes its line, with the comment
 * after it; in an inline table the key and its comma. A comment above it stays, and an empty line separates the comment
 * from the following text. The table stays, even if empty.
 *
 * @param sliceLength see `slicesOf`
 * @returns the whole text; unchanged if it lacks the key
 * @throws {ConfigError} when it is not TOML
 */
function removeKey(source: SourceText, table: KeyPath, key: string, sliceLength?: number): string {
  return inDocument(source, () => {
    const path = [...table, key];
    const outline = outlineOf(source.text, path, sliceLength);
    const entry = outline.entries.find((each) => samePath(each.path, path));
    return entry ? splice(source.text, removal(outline, entry)) : source.text;
  });
}

function removal(outline: Outline, { node, inline }: KeyEntry): readonly Splice[] {
  const { text, entries } = outline;
  if (!inline) {
    const { start, end } = node.span;
    const lines = { start: lineStart(text, start), end: nextLine(text, end) };
    return [linesDeletion(text, lines, isCommentAbove(outline, start))];
  }
  for (const { node: outer } of entries) {
    const body = outer.table?.body ?? [];
    const index = body.indexOf(node);
    // The keys of an inline table are separated like the elements of an array.
    if (outer.table && index >= 0) {
      const items = body.map(({ span }) => span);
      return removeFromArray(text, { span: outer.table.span, items }, index);
    }
  }
  throw new RangeError('a key of an inline table is in one');
}

/** Whether a comment is alone on the line above a key. */
function isCommentAbove({ text, entries, headers, sections }: Outline, key: number): boolean {
  const spans = [...entries.map(({ node }) => node.span), ...headers.map((each) => each.key)];
  const ends = [...spans, ...sections].map(({ end }) => end).filter((end) => end <= key);
  const start = ends.reduce((last, end) => Math.max(last, end), 0);
  const { lines } = gapIn(text, { start, end: key });
  return (lines.length > 2 || start === 0) && lines.at(-2)?.comment !== undefined;
}

/**
 * Writes a pick into the bytes of a configuration file, and changes nothing else.
 *
 * With a `[subscribe]` table the pick is a key of `[subscribe.routes]`: `default` there overrides
 * `[route].default`, which is left alone. Without one the only pick is `[route].default`.
 *
 * @param group a group of the view; only `default` without `[subscribe]`
 * @param file the name of the file in errors
 * @returns equal bytes if the file already has this pick in the same form
 * @throws {ConfigError} of kind `invalid` when the file is not UTF-8 or not TOML, when the table or
 *   a parent of it is another kind of value, or when a name cannot be encoded as UTF-8
 */
export function editPick(
  bytes: Uint8Array,
  config: { readonly subscribe: boolean },
  group: string,
  target: string,
  file?: string,
): Uint8Array {
  return editText(bytes, file, (source) => setString(source, tableOf(config), group, target));
}

/**
 * Removes the pick of a group from where `editPick` writes it, and changes nothing else.
 *
 * @returns equal bytes if the file has no pick there
 * @throws {ConfigError} of kind `invalid` when the file is not UTF-8 or not TOML
 */
export function removePick(
  bytes: Uint8Array,
  config: { readonly subscribe: boolean },
  group: string,
  file?: string,
): Uint8Array {
  return editText(bytes, file, (source) => removeKey(source, tableOf(config), group));
}

const tableOf = ({ subscribe }: { readonly subscribe: boolean }): readonly string[] =>
  subscribe ? ['subscribe', 'routes'] : ['route'];
