import { appendToArray, type ArrayPlaces } from './lists/array-form.ts';
import { insertion, type Splice } from './splice.ts';

/** Adds `item`, a `key = value`, to an inline table, whose items are separated like the elements of an array. */
export function intoBraces(text: string, braces: ArrayPlaces, item: string): readonly Splice[] {
  const { span, items } = braces;
  const at = span.start + 1;
  const isOneLine = !text.slice(at, span.end).includes('\n');
  if (items.length > 0 || !isOneLine) return appendToArray(text, braces, { item });
  return [insertion(at, ` ${item}${text[at] === '}' ? ' ' : ''}`)];
}
