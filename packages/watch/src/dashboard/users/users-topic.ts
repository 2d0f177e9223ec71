import { formsOf } from '@weir/proxy/protocols';
import type { WatchedSums } from '@weir/client/monitor';
import type { DashboardContext, PageTopic } from '../contract.ts';
import { Parameters } from '../parameters.ts';
import { MAX_ROWS } from '../shared/window.ts';
import { compareUsers, hasText, userRows } from './user-rows.ts';
import type { UsersInFile } from './users-in-file.ts';
import { USER_COLUMNS, type UserRow, type UsersView } from './view.ts';

/** Maximum number of inbounds that a page offers for a new user. */
const MAX_INBOUNDS = 200;

export interface UsersParts {
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
