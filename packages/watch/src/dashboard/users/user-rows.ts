import type { SessionView } from '@weir/server/api/views';
import type { WrittenUser } from '@weir/config/edit';
import {
  type MonitoredFlow,
  type SumsByKey,
  userKey,
  userOfKey,
  type FlowUser,
} from '@weir/client/monitor';
import type { UserColumn, UserRow } from './view.ts';

/** The data that rows of users are built from. */
export interface UserFacts {
  readonly sessions: Iterable<SessionView>;
  readonly flows: Iterable<MonitoredFlow>;
  readonly sums: SumsByKey;
  /** The users of the file. */
  readonly written: readonly WrittenUser[];
}

/** Maximum number of names and sources in a row; further ones are only counted. */
const MAX_SHOWN = 8;

interface Gathered extends FlowUser {
  readonly names: string[];
  readonly sources: Set<string>;
  sessions: number;
}

/** All users, connected or not; linear in the number of users, sessions and flows. */
export function userRows({ sessions, flows, sums, written }: UserFacts): readonly UserRow[] {
  const users = new Map<string, Gathered>();
  const at = (of: FlowUser): Gathered => {
    const key = userKey(of);
    let found = users.get(key);
    if (!found) {
      const { inbound, user } = of;
      users.set(key, (found = { inbound, user, names: [], sources: new Set(), sessions: 0 }));
    }
    return found;
  };
  for (const { inbound, label = null, shown } of written)
    at({ inbound, user: label }).names.push(shown);
  for (const session of sessions) {
    const user = at(session);
    user.sessions++;
    if (session.source !== null) user.sources.add(session.source);
  }
  for (const { view, closedAt } of flows) {
    if (closedAt === undefined && view.source !== null) at(view).sources.add(view.source);
  }
  for (const { key } of sums.all()) at(userOfKey(key));
  return Array.from(users, ([id, { inbound, user, names, sources, sessions: count }]) => {
    const { flows: open = 0, rate = 0, bytes = 0 } = sums.get(id) ?? {};
    return {
      id,
      inbound,
      user,
      names: names.slice(0, MAX_SHOWN),
      moreNames: Math.max(0, names.length - MAX_SHOWN),
      isInFile: names.length > 0,
      sessions: count,
      sources: [...sources].slice(0, MAX_SHOWN),
      sourceCount: sources.size,
      flows: open,
      rate,
      bytes,
    };
  });
}

/** Whether a row contains a lower-case text in its name or its inbound. */
export const hasText = ({ user, names, inbound }: UserRow, text: string): boolean =>
  text === '' ||
  [user ?? 'no label', inbound, ...names].some((name) => name.toLowerCase().includes(text));

/** Compares two rows by a column, and by their names where equal. */
export function compareUsers(
  a: UserRow,
  b: UserRow,
  sort: UserColumn,
  descending: boolean,
): number {
  const order = compareBy(a, b, sort);
  return (
    (descending ? -order : order) || compareTexts(nameOf(a), nameOf(b)) || compareTexts(a.id, b.id)
  );
}

function compareBy(a: UserRow, b: UserRow, sort: UserColumn): number {
  switch (sort) {
    case 'user':
      return compareTexts(nameOf(a), nameOf(b));
    case 'inbound':
      return compareTexts(a.inbound, b.inbound);
    case 'sources':
      return a.sourceCount - b.sourceCount;
    case 'sessions':
    case 'flows':
    case 'rate':
    case 'bytes':
      return a[sort] - b[sort];
    default:
      return sort satisfies never;
  }
}

const nameOf = ({ user, names }: UserRow): string => user ?? names[0] ?? '';

const compareTexts = (a: string, b: string): number => (a < b ? -1 : a > b ? 1 : 0);
