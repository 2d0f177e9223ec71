import { appendToArray, type ArrayPlaces } from './lists/array-form.ts';
import { insertion, type Splice } from './splice.ts';

/** Adds `item`, a `key = value`, to an inline table, whose items are separated as the elements of an array are. */
export function intoBraces(text: string, braces: ArrayPlaces, item: string): readonly Splice[] {
  if (braces.items.length > 0) return appendToArray(text, braces, { item });
  const at = braces.span.start + 1;
  return [insertion(at, ` ${item}${text[at] === '}' ? ' ' : ''}`)];
}
