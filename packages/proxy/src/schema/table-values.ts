import type { Node, TableNode } from './node.ts';

/** Values of tables whose shape has been checked before, for code that reads single keys. */

/** Returns the value of a key; `undefined` without it. */
export const valueAt = (table: TableNode, key: string): Node | undefined =>
  table.entries.get(key)?.value;

/** Returns the text of a key; `undefined` without it. */
export function textAt(table: TableNode, key: string): string | undefined {
  const node = valueAt(table, key);
  return node?.kind === 'string' ? node.value : undefined;
}

/** Whether a key is the number 0. */
export function isZeroAt(table: TableNode, key: string): boolean {
  const node = valueAt(table, key);
  return node?.kind === 'integer' && node.value === 0n;
}

/** Returns the tables of a list; none without the key. */
export function tablesAt(table: TableNode, key: string): readonly TableNode[] {
  const node = valueAt(table, key);
  return node?.kind === 'array' ? node.items.filter((item) => item.kind === 'table') : [];
}
