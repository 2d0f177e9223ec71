import type { Node, TableNode } from '../schema/node.ts';
import type { SettingsWarning } from './protocol.ts';

/** The value of a key of a table, whose shape has been checked before. */
export const valueOf = (table: TableNode, key: string): Node | undefined =>
  table.entries.get(key)?.value;

/** The text of a key; `undefined` without it. */
export function textOf(table: TableNode, key: string): string | undefined {
  const node = valueOf(table, key);
  return node?.kind === 'string' ? node.value : undefined;
}

/** Whether a key is the number 0. */
export function isZero(table: TableNode, key: string): boolean {
  const node = valueOf(table, key);
  return node?.kind === 'integer' && node.value === 0n;
}

/** The tables of a list; none when the key is left out. */
export function tablesOf(table: TableNode, key: string): readonly TableNode[] {
  const node = valueOf(table, key);
  return node?.kind === 'array' ? node.items.filter((item) => item.kind === 'table') : [];
}

/**
 * A warning for each entry that repeats the name of an earlier one.
 *
 * @param list the key of the list
 * @param identity of an entry, `undefined` for none; never part of a message, since it may be a secret
 * @param message what it leads to
 */
export function* repeated(
  table: TableNode,
  list: string,
  identity: (entry: TableNode) => string | undefined,
  message: string,
): Generator<SettingsWarning> {
  const seen = new Set<string>();
  for (const entry of tablesOf(table, list)) {
    const name = identity(entry);
    if (name === undefined) continue;
    if (seen.has(name)) yield { id: 'repeated-user', span: entry.span, message };
    seen.add(name);
  }
}

/** A password without a user name, which is not sent. */
export function* passwordAlone(table: TableNode): Generator<SettingsWarning> {
  const pass = valueOf(table, 'pass');
  if (!pass || valueOf(table, 'user')) return;
  yield {
    id: 'settings-ignored',
    span: pass.span,
    message: 'pass is ignored without user, so no password is sent',
  };
}
