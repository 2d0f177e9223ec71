import {
  GROUP_KEYS,
  SORT_KEYS,
  type GroupKey,
  type SortKey,
} from '../../shared/connection-keys.ts';

/** The parameters of the list that the address contains. */
export type ListQuery = {
  readonly filter: string;
  readonly sort: SortKey;
  readonly descending: boolean;
  readonly group: GroupKey | 'none';
  readonly open: readonly string[];
};

export const SORTS: readonly (readonly [SortKey, string])[] = [
  ['age', 'Age'],
  ['rate', 'Rate'],
  ['down', 'Down'],
  ['up', 'Up'],
  ['host', 'Destination'],
  ['user', 'User'],
  ['source', 'Source'],
  ['inbound', 'Inbound'],
  ['outbound', 'Outbound'],
  ['rule', 'Rule'],
];

/** The list that the parameters of the address describe; invalid ones are ignored. */
export function queryOf(parameters: Readonly<Record<string, string>>): ListQuery {
  const { filter = '', sort = '', order, group, open = '' } = parameters;
  return {
    filter,
    sort: isSortKey(sort) ? sort : 'age',
    descending: order === 'descending',
    group: GROUP_KEYS.find((key) => key === group) ?? 'none',
    open: namesOf(open),
  };
}

export const isSortKey = (text: string): text is SortKey =>
  SORT_KEYS.some((known) => known === text);

/** Whether a column is sorted in descending order at first. */
export const isAmount = (key: SortKey): boolean => key === 'up' || key === 'down' || key === 'rate';

/** The parameter `open` after the group `name` was toggled. */
export function openGroups(open: readonly string[], name: string): string {
  const next = open.includes(name) ? open.filter((other) => other !== name) : [...open, name];
  return next.length === 0 ? '' : JSON.stringify(next.slice(-MAX_OPEN));
}

const MAX_OPEN = 50;

function namesOf(text: string): readonly string[] {
  try {
    const names: unknown = JSON.parse(text);
    return Array.isArray(names) ? names.map(String).slice(0, MAX_OPEN) : [];
  } catch {
    return [];
  }
}
