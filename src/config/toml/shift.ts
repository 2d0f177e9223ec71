import type { Entry, Node, Span } from '../../schema/node.ts';

export const shiftSpan = ({ start, end }: Span, by: number): Span => ({
  start: start + by,
  end: end + by,
});

/** The same values, in places `by` characters further on. */
export function shiftNode(node: Node, by: number): Node {
  const span = shiftSpan(node.span, by);
  switch (node.kind) {
    case 'array':
      return { ...node, span, items: node.items.map((item) => shiftNode(item, by)) };
    case 'table': {
      const shifted = ([name, { key, value }]: readonly [string, Entry]): [string, Entry] => [
        name,
        { key: shiftSpan(key, by), value: shiftNode(value, by) },
      ];
      return { ...node, span, entries: new Map(Array.from(node.entries, shifted)) };
    }
    case 'string':
    case 'integer':
    case 'float':
    case 'boolean':
    case 'datetime':
      return { ...node, span };
    default:
      return node satisfies never;
  }
}
