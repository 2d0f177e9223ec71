import type { Node, TableNode } from '../../schema/node.ts';

/** Settings that say who is served; the others say how. */
const CREDENTIALS: readonly string[] = [
  'id',
  'user',
  'pass',
  'password',
  'method',
  'private_key',
  'peer_public_key',
  'endpoint',
];

/**
 * What makes a node the same as before under another name: its protocol, server, port and credentials, as
 * one text. It holds secrets, and stays in memory.
 */
export function identityOf(node: TableNode): string {
  const settings = valueAt(node, 'settings');
  const credentials =
    settings?.kind === 'table' ? CREDENTIALS.map((key) => plain(valueAt(settings, key))) : [];
  const server = valueAt(node, 'server');
  return JSON.stringify([
    plain(valueAt(node, 'protocol')),
    server?.kind === 'string' ? server.value.toLowerCase() : null,
    plain(valueAt(node, 'port')),
    ...credentials,
  ]);
}

/** Everything that a table says beside its name, as one text: equal for nodes that work alike. */
export const contentOf = (table: TableNode): string => JSON.stringify(plain(table, ['name']));

/** The name of a node or of a route group; empty where it has none that is a string. */
export function nameOfTable(table: TableNode): string {
  const name = valueAt(table, 'name');
  return name?.kind === 'string' ? name.value : '';
}

const valueAt = (table: TableNode, key: string): Node | undefined => table.entries.get(key)?.value;

/** A value as JSON has it, keys in order; `null` where there is none. */
function plain(node: Node | undefined, without: readonly string[] = []): unknown {
  switch (node?.kind) {
    case undefined:
      return null;
    case 'array':
      return node.items.map((item) => plain(item));
    case 'table':
      return [...node.entries]
        .filter(([key]) => !without.includes(key))
        .toSorted(([a], [b]) => (a < b ? -1 : 1))
        .map(([key, { value }]) => [key, plain(value)]);
    case 'integer':
      return `integer ${node.value}`;
    case 'float':
      return `float ${node.value}`;
    case 'datetime':
      return `datetime ${node.value}`;
    case 'string':
    case 'boolean':
      return node.value;
    default:
      return node satisfies never;
  }
}
