/** Columns by which connections can be sorted. */
export const SORT_KEYS = [
  'age',
  'host',
  'user',
  'source',
  'inbound',
  'outbound',
  'rule',
  'up',
  'down',
  'rate',
] as const;

export type SortKey = (typeof SORT_KEYS)[number];

/** Properties by which connections can be grouped. */
export const GROUP_KEYS = [
  'outbound',
  'user',
  'host',
  'source',
  'inbound',
  'rule',
  'network',
] as const;

export type GroupKey = (typeof GROUP_KEYS)[number];
