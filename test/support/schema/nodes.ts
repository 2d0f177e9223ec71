import type { Node, Span, TableNode } from '@weir/proxy/schema';

/** What `node` understands: a table is a Map or a plain object. */
export type Plain =
  | string
  | bigint
  | number
  | boolean
  | readonly Plain[]
  | { [key: string]: Plain };

/**
 * Makes a node; every node and key gets the next free place, so that document order is the order in
 * which the value is written here.
 */
export function node(value: Plain, places: { next: number } = { next: 0 }): Node {
  const place = (): Span => ({ start: places.next, end: ++places.next });
  const span = place();
  if (typeof value === 'string') return { kind: 'string', span, value };
  if (typeof value === 'bigint') return { kind: 'integer', span, value };
  if (typeof value === 'number') return { kind: 'float', span, value };
  if (typeof value === 'boolean') return { kind: 'boolean', span, value };
  if (isList(value)) return { kind: 'array', span, items: value.map((item) => node(item, places)) };
  const entries = new Map(
    Object.entries(value).map(([name, item]) => {
      const key = place();
      return [name, { key, value: node(item, places) }];
    }),
  );
  return { kind: 'table', span, entries };
}

const isList = (value: Plain): value is readonly Plain[] => Array.isArray(value);

export function tableNode(value: { [key: string]: Plain }): TableNode {
  const made = node(value);
  if (made.kind !== 'table') throw new TypeError('an object makes a table');
  return made;
}
