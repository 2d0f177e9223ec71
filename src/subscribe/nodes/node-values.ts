import { isUdpOnly } from '../../config/tables/balancer.ts';
import { protocolName } from '../../protocols/registry.ts';
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
  const settings = tableAt(node, 'settings');
  const credentials = settings ? CREDENTIALS.map((key) => plain(valueAt(settings, key))) : [];
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
export const nameOfTable = (table: TableNode): string => stringAt(table, 'name');

/** Whether a TCP connection can probe the server of a node, so that a balancer can have it. */
export const isProbed = (node: TableNode): boolean =>
  valueAt(node, 'server') !== undefined &&
  valueAt(node, 'port') !== undefined &&
  !isUdpOnly(stringAt(node, 'protocol'));

/** Which certificates of its server a node accepts, the weakest first; `none` without TLS. */
export type Trust = 'none' | 'any' | 'public' | 'own';

const WEAKEST_FIRST: readonly Trust[] = ['none', 'any', 'public', 'own'];

/** Which certificates the node of a table accepts; `own` are those of its `ca_file` too. */
export function trustOf(node: TableNode): Trust {
  if (protocolName(stringAt(node, 'protocol')) === 'hysteria2') {
    return trustIn(tableAt(node, 'settings'));
  }
  const stream = tableAt(node, 'stream');
  if (!stream) return 'none';
  const network = stringAt(stream, 'network');
  const isCarrier = network === 'ws' || network === 'grpc';
  const isSecured = network === 'tls' || (isCarrier && stringAt(stream, 'security') === 'tls');
  return isSecured ? trustIn(tableAt(stream, 'tls')) : 'none';
}

function trustIn(tls: TableNode | undefined): Trust {
  const insecure = tls && valueAt(tls, 'allow_insecure');
  if (insecure?.kind === 'boolean' && insecure.value) return 'any';
  return tls && valueAt(tls, 'ca_file') ? 'own' : 'public';
}

/** Whether a node with other settings would check less than it did. */
export const isLowered = (before: Trust, after: Trust): boolean =>
  WEAKEST_FIRST.indexOf(after) < WEAKEST_FIRST.indexOf(before);

function tableAt(table: TableNode, key: string): TableNode | undefined {
  const value = valueAt(table, key);
  return value?.kind === 'table' ? value : undefined;
}

/** The string at a key; empty without one. */
export function stringAt(table: TableNode, key: string): string {
  const value = valueAt(table, key);
  return value?.kind === 'string' ? value.value : '';
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
