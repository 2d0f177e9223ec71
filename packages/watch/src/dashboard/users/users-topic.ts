import type { SessionView } from '@weir/server/api/views';
import type { WrittenUser } from '@weir/config/edit';
import {
  type MonitoredFlow,
  type SumsByKey,
  userKey,
  userOfKey,
  type FlowUser,
  type WatchedSums,
} from '@weir/client/monitor';
import { type UserColumn, type UserRow, USER_COLUMNS, type UsersView } from './view.ts';
import { formsOf } from '@weir/proxy/protocols';
import type { DashboardContext, PageTopic } from '../contract.ts';
import { Parameters } from '../parameters.ts';
import { MAX_ROWS } from '../shared/protocol.ts';
import type { UsersInFile } from './users-in-file.ts';

/** The data that rows of users are built from. */
interface UserFacts {
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

/** Maximum number of inbounds that a page offers for a new user. */
const MAX_INBOUNDS = 200;

interface UsersParts {
  readonly context: DashboardContext;
  readonly sums: WatchedSums;
  readonly file: UsersInFile;
}

export function usersTopic({ context, sums, file }: UsersParts): PageTopic {
  const { monitor } = context;
  /** Rows shared by all pages, and the state that they were built from. */
  let made: { readonly rows: readonly UserRow[]; readonly of: readonly unknown[] } | undefined;
  const allRows = (): readonly UserRow[] => {
    const { read } = file;
    const of = [monitor.sessions, monitor.flows, monitor.listedAt, monitor.traffic, read];
    if (made?.of.every((value, index) => value === of[index]) !== true) {
      const written = read.kind === 'read' ? read.users : [];
      const [sessions, flows] = [monitor.sessions.values(), monitor.flows.values()];
      made = { rows: userRows({ sessions, flows, sums: sums.users, written }), of };
    }
    return made.rows;
  };
  return {
    name: 'users',
    view: (parameters): UsersView => {
      const given = new Parameters(parameters);
      const text = given.text('text', '').toLowerCase();
      const sort = given.choice('sort', USER_COLUMNS, 'bytes');
      const descending = given.flag('descending');
      const rows = allRows()
        .filter((row) => hasText(row, text))
        .sort((a, b) => compareUsers(a, b, sort, descending));
      const last = Math.max(0, rows.length - MAX_ROWS);
      const first = Math.min(given.count('first', Number.MAX_SAFE_INTEGER) ?? 0, last);
      const { since = null, unattributed, missed } = sums.coverage;
      const { read } = file;
      return {
        first,
        total: rows.length,
        rows: rows.slice(first, first + MAX_ROWS),
        inFile: read.kind === 'read' ? read.users.length : null,
        fileProblem: read.kind === 'unreadable' ? read.reason : null,
        file: context.config ?? null,
        unlisted: unlisted(monitor),
        since,
        unattributed,
        missed,
        noEdit: noEdit(context),
        inbounds: inboundsWithUsers(monitor),
      };
    },
    hold: () => file.hold(),
    onChange: (listener) => file.onChange(listener),
  };
}

function unlisted({ api, listedAt }: DashboardContext['monitor']): UsersView['unlisted'] {
  if (api.kind === 'absent') return 'no-api';
  if (listedAt !== undefined) return null;
  return api.kind === 'lost' ? 'lost' : 'connecting';
}

/** Inbounds whose protocol has users. */
const inboundsWithUsers = ({ status }: DashboardContext['monitor']): readonly string[] =>
  (status?.value.inbounds ?? [])
    .filter(({ protocol }) => formsOf(protocol)?.user !== undefined)
    .slice(0, MAX_INBOUNDS)
    .map(({ tag }) => tag);

/** Why users can be neither added nor removed; `null` if they can. */
export function noEdit({ config, socket, readOnly }: DashboardContext): string | null {
  if (readOnly) return 'This dashboard is read-only.';
  if (config === undefined)
    return 'The configuration file is not known: start the dashboard with --config FILE.';
  if (socket === undefined) {
    return 'Without the control socket a change of users could not be put into force: start the dashboard with --socket PATH.';
  }
  return null;
}
