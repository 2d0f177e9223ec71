import { useRef, useState } from 'preact/hooks';
import type { UserRow, UsersParameters, UsersView, UserColumn } from '../../users/view.ts';
import { useCommands } from '../commands.ts';
import { Grid, type Sort, type Column } from '../components/grid.ts';
import { Empty } from '../components/states.ts';
import { useWatch } from '../connection.ts';
import { bytes, count, counted, escaped, since, Name, rate } from '../format.ts';
import { Search } from '../components/fields.ts';
import { html } from '../html.ts';
import { place, setParameters, connectionsLink } from '../router.ts';
import { AddUser, removeUser } from './edits.ts';
import { Dialog } from '../components/dialog.ts';
import { narrow } from '../components/media.ts';

/** The page Users: the users of inbounds, connected or not. */
export function UsersPage() {
  const { text = '', sort, order } = place.value.parameters;
  const [first, setFirst] = useState(0);
  const [active, setActive] = useState<UserRow | undefined>(undefined);
  const [isAdding, setAdding] = useState(false);
  const [opened, setOpened] = useState<string | undefined>(undefined);
  const key = isUserColumn(sort) ? sort : 'bytes';
  const descending = order !== 'ascending';
  const parameters: UsersParameters = { text, sort: key, descending, first };
  const view = useWatch<UsersView>('users', parameters).value;
  const lastOpened = useRef<UserRow | undefined>(undefined);

  const sortBy = (next: Sort) =>
    setParameters({ sort: next.key, order: next.descending ? '' : 'ascending' });
  useCommands([
    {
      title: 'Sort by the next column',
      group: 'Users',
      key: 's',
      run: () => {
        const at = COLUMNS.findIndex((column) => column.key === key);
        const next = COLUMNS[(at + 1) % COLUMNS.length];
        if (next) sortBy({ key: next.key, descending: next.end === true });
      },
    },
    {
      title: 'Add a user',
      group: 'Users',
      key: 'a',
      run: () => view && canAdd(view) && setAdding(true),
    },
    {
      title: 'Remove this user',
      group: 'Users',
      key: 'x',
      run: () => {
        const [name, other] = active?.names ?? [];
        if (active === undefined || name === undefined || view?.noEdit !== null) return;
        if (other === undefined) void removeUser({ inbound: active.inbound, name });
        else setOpened(active.id);
      },
    },
  ]);
  if (!view) return html`<p class="dim">Loading …</p>`;
  const found = view.rows.find(({ id }) => id === opened);
  if (found) lastOpened.current = found;
  const row = found ?? (lastOpened.current?.id === opened ? lastOpened.current : undefined);
  return html`<div class="bar">
      <${Search}
        label="Search users and inbounds"
        placeholder="Search users and inbounds"
        parameter="text"
        value=${text}
      />
      <span class="dim">${counted(view.total, 'user')}</span>
      ${
        canAdd(view) &&
        html`<button type="button" onClick=${() => setAdding(true)}>Add a user …</button>`
      }
    </div>
    <p class="dim">
      ${view.unlisted === null ? aboutBytes(view) : UNLISTED[view.unlisted]} ${aboutFile(view)}
    </p>
    <${Grid}
      label="Users"
      columns=${view.unlisted === null ? COLUMNS : UNLISTED_COLUMNS}
      window=${view}
      id=${(of: UserRow) => of.id}
      sort=${{ key, descending }}
      onSort=${sortBy}
      onWindow=${setFirst}
      onOpen=${(of: UserRow) => setOpened(of.id)}
      onActive=${setActive}
      rowClass=${(of: UserRow) =>
        view.unlisted === null && of.sessions + of.flows === 0 ? 'gone' : ''}
      empty=${text === '' ? html`<${NoUsers} />` : html`<${Empty} title="No user matches" />`}
    />
    ${isAdding && html`<${AddUser} inbounds=${view.inbounds} onClose=${() => setAdding(false)} />`}
    ${row && html`<${UserSheet} row=${row} view=${view} onClose=${() => setOpened(undefined)} />`}`;
}

const canAdd = ({ noEdit, inbounds }: UsersView): boolean => noEdit === null && inbounds.length > 0;

const UNLISTED = {
  'no-api': 'Who is connected is not known: the configuration has no [api].',
  lost: 'Who is connected is not known: the API does not answer.',
  connecting: 'Waiting for the first list of connections.',
} as const;

const NoUsers = () =>
  html`<${Empty} title="No users">
    <p>No inbound of the file has accounts, and no client is connected.</p>
  <//>`;

/** The start of counting bytes as text, and which bytes it lacks. */
function aboutBytes({ since: from, unattributed, missed }: UsersView): string {
  if (from === null) return 'Bytes are counted from the first list of connections on.';
  const lacking =
    unattributed >= 1 ? `${bytes(unattributed)} belong to no connection that was seen` : '';
  const events = missed > 0 ? `${counted(missed, 'event')} were missed` : '';
  const gaps = [lacking, events].filter((part) => part !== '').join(', and ');
  return `Bytes are those of the last ${since(from)}, since this dashboard watches; ${gaps === '' ? 'they are complete.' : `${gaps}.`}`;
}

function aboutFile({ inFile, fileProblem, file }: UsersView): string {
  if (fileProblem !== null) return `The users of the file are not shown: ${escaped(fileProblem)}`;
  if (file === null)
    return 'Who else is in the file is not known: start the dashboard with --config FILE.';
  return inFile === null ? '' : `${count(inFile)} in ${escaped(file)}.`;
}

/** Details of one row of users in a sheet at the side. */
const UserSheet = ({
  row,
  view,
  onClose,
}: {
  readonly row: UserRow;
  readonly view: UsersView;
  readonly onClose: () => void;
}) =>
  html`<${Dialog} sheet title=${html`<${UserName} row=${row} />`} onClose=${onClose}>
    <dl class="facts">
      <dt>Inbound</dt>
      <dd><${Name} text=${row.inbound} /></dd>
      ${view.unlisted === null && html`<${Use} row=${row} view=${view} />`}
    </dl>
    ${view.unlisted !== null && html`<p class="dim">What it uses is not known: connections are not listed.</p>`}
    ${
      row.user === null &&
      view.unlisted === null &&
      html`<p class="dim">
        Flows without a label: VLESS and VMess users have none, and clients of an inbound without
        accounts. Their bytes are those of all of them.
      </p>`
    }
    <${InFile} row=${row} view=${view} />
  <//>`;

const Use = ({ row, view }: { readonly row: UserRow; readonly view: UsersView }) =>
  html`<dt>Sessions</dt>
    <dd>${count(row.sessions)}</dd>
    <dt>Sources</dt>
    <dd>${row.sourceCount === 0 ? 'none' : sourcesOf(row)}</dd>
    <dt>Flows</dt>
    <dd>
      <a href=${connectionsLink({ user: row.user ?? '', in: row.inbound })}
        >${counted(row.flows, 'flow')}</a
      >
    </dd>
    <dt>Rate</dt>
    <dd>${rate(row.rate)}</dd>
    <dt>Bytes</dt>
    <dd>${bytes(row.bytes)}${view.since !== null && ` in ${since(view.since)}`}</dd>`;

const sourcesOf = ({ sources, sourceCount }: UserRow) =>
  html`${sources.map((source, at) => html`${at > 0 && ', '}<${Name} text=${source} />`)}${
    sourceCount > sources.length && ` and ${count(sourceCount - sources.length)} more`
  }`;

/** The users of the file behind a row, with buttons that remove them. */
function InFile({ row, view }: { readonly row: UserRow; readonly view: UsersView }) {
  const { names, moreNames, inbound } = row;
  if (names.length === 0) {
    return html`<p class="dim">
      ${
        view.inFile === null
          ? 'The users of the file are not known.'
          : row.user === null
            ? 'The file has no user without a label for this inbound.'
            : 'It is not in the file: it was removed, and its flows go on.'
      }
    </p>`;
  }
  return html`<h3>In the file</h3>
    <ul class="removals">
      ${names.map(
        (name) =>
          html`<li key=${name}>
            <${Name} text=${name} />
            ${
              view.noEdit === null &&
              html`<button
                type="button"
                class="danger"
                onClick=${() => void removeUser({ inbound, name })}
              >
                Remove …
              </button>`
            }
          </li>`,
      )}
    </ul>
    ${moreNames > 0 && html`<p class="dim">${counted(moreNames, 'more user')}: search by name to see one.</p>`}
    ${view.noEdit !== null && html`<p class="dim">${view.noEdit}</p>`}`;
}

type UsersColumn = Column<UserRow> & { readonly key: UserColumn };

/** The name of a user: its label; without one, the names of the users it may be. */
const UserName = ({ row: { user, names, moreNames } }: { readonly row: UserRow }) => {
  if (user !== null) return html`<${Name} text=${user} />`;
  const others = names.length + moreNames;
  return html`no
  label${
    others === 1
      ? html` <span class="dim">(<${Name} text=${names[0] ?? ''} />)</span>`
      : others > 1 && html` <span class="dim">(${count(others)} users)</span>`
  }`;
};

const sources = ({ sources: shown, sourceCount }: UserRow) =>
  sourceCount === 1
    ? html`<${Name} text=${shown[0] ?? ''} />`
    : sourceCount === 0
      ? '–'
      : count(sourceCount);

const COLUMNS: readonly UsersColumn[] = [
  {
    key: 'user',
    title: 'User',
    width: 'minmax(9rem, 2fr)',
    sorts: 'ascending',
    card: 'title',
    cell: (row) =>
      html`<${UserName} row=${row} />${
          row.sessions + row.flows === 0 && html` <span class="badge">not connected</span>`
        }`,
  },
  {
    key: 'inbound',
    title: 'Inbound',
    width: 'minmax(6rem, 1fr)',
    sorts: 'ascending',
    card: 'line',
    cell: ({ inbound }) => html`<${Name} text=${inbound} />`,
  },
  {
    key: 'sessions',
    title: 'Sessions',
    width: '5rem',
    end: true,
    sorts: 'descending',
    cell: ({ sessions }) => count(sessions),
  },
  {
    key: 'sources',
    title: 'Sources',
    width: 'minmax(7rem, 1fr)',
    extra: true,
    end: true,
    sorts: 'descending',
    cell: sources,
  },
  {
    key: 'flows',
    title: 'Flows',
    width: '4.5rem',
    end: true,
    sorts: 'descending',
    card: 'line-end',
    cell: ({ flows }) => (narrow.value ? counted(flows, 'flow') : count(flows)),
  },
  {
    key: 'rate',
    title: 'Rate',
    width: '6rem',
    end: true,
    sorts: 'descending',
    cell: ({ rate: of }) => rate(of),
  },
  {
    key: 'bytes',
    title: 'Bytes',
    width: '6rem',
    end: true,
    sorts: 'descending',
    card: 'aside',
    cell: ({ bytes: of }) => bytes(of),
  },
];

/** The columns where the connected users are not known. */
const UNLISTED_COLUMNS: readonly UsersColumn[] = COLUMNS.map((column) => {
  if (column.key === 'inbound') return column;
  const isName = column.key === 'user';
  return {
    ...column,
    cell: (row) => (isName ? html`<${UserName} row=${row} />` : html`<span class="dim">?</span>`),
  };
});

const isUserColumn = (key: string | undefined): key is UserColumn =>
  COLUMNS.some((column) => column.key === key);
