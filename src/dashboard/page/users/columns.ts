import type { UserColumn, UserRow } from '../../users/view.ts';
import type { Column } from '../components/grid-column.ts';
import { narrow } from '../components/media.ts';
import { bytes, count, counted, Name, rate } from '../format.ts';
import { html } from '../html.ts';

type UsersColumn = Column<UserRow> & { readonly key: UserColumn };

/** The name of a user: its label; without one, the names of the users it may be. */
export const UserName = ({ row: { user, names, moreNames } }: { readonly row: UserRow }) => {
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

export const COLUMNS: readonly UsersColumn[] = [
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
export const UNLISTED_COLUMNS: readonly UsersColumn[] = COLUMNS.map((column) => {
  if (column.key === 'inbound') return column;
  const isName = column.key === 'user';
  return {
    ...column,
    cell: (row) => (isName ? html`<${UserName} row=${row} />` : html`<span class="dim">?</span>`),
  };
});

export const isUserColumn = (key: string | undefined): key is UserColumn =>
  COLUMNS.some((column) => column.key === key);
