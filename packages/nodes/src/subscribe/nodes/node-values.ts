import { isUdpOnly } from '@weir/config/load';
import { udpCarrier } from '@weir/proxy/protocols';
import { type Node, type TableNode, textAt, valueAt } from '@weir/proxy/schema';

/** A node as a source sent it. */
export interface SourceNode {
  /** Name at the source; may be empty or not unique. */
  readonly there: string;
  /** See `identityOf`. */
  readonly identity: string;
  /** See `contentOf`. */
  readonly content: string;
  readonly trust: Trust;
  /** Formats its tables as whole lines, under a name. */
  readonly text: (name: string) => string;
}

/** Settings that are credentials of the user; the others configure the protocol. */
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
 * The identity of a node, by which it is recognised under another name: its protocol, server, port and credentials, as
 * one text. It contains secrets, and stays in memory.
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

/** The contents of a table except its name, as one text: equal for nodes that behave alike. */
export const contentOf = (table: TableNode): string => JSON.stringify(plain(table, ['name']));

/** The name of a node or of a route group; empty if it is missing or not a string. */
export const nameOfTable = (table: TableNode): string => stringAt(table, 'name');

/** Whether the server of a node can be probed over TCP, so that a balancer can have the node as a member. */
export const isProbed = (node: TableNode): boolean =>
  valueAt(node, 'server') !== undefined &&
  valueAt(node, 'port') !== undefined &&
  !isUdpOnly(stringAt(node, 'protocol'));

/** The strictness of certificate verification by a node, the weakest first; `none` without TLS. */
export type Trust = 'none' | 'any' | 'public' | 'own';

const WEAKEST_FIRST: readonly Trust[] = ['none', 'any', 'public', 'own'];

/** The trust of a node's table; `own` also stands for the certificates of its `ca_file`. */
export function trustOf(node: TableNode): Trust {
  if (udpCarrier(stringAt(node, 'protocol')) === 'quic') {
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

/** Whether changed settings verify less strictly than before. */
export const isLowered = (before: Trust, after: Trust): boolean =>
  WEAKEST_FIRST.indexOf(after) < WEAKEST_FIRST.indexOf(before);

function tableAt(table: TableNode, key: string): TableNode | undefined {
  const value = valueAt(table, key);
  return value?.kind === 'table' ? value : undefined;
}

/** The string at a key; empty if there is none. */
export function stringAt(table: TableNode, key: string): string {
  return textAt(table, key) ?? '';
}

/** A value as JSON, with keys in order; `null` where there is none. */
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
