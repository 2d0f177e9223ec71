import { useRef, useState } from 'preact/hooks';
import type { UserRow, UsersParameters, UsersView } from '../../users/view.ts';
import { useCommands } from '../commands.ts';
import { Grid, type Sort } from '../components/grid.ts';
import { Empty } from '../components/states.ts';
import { useWatch } from '../connection.ts';
import { bytes, count, counted, escaped, since } from '../format.ts';
import { Search } from '../components/search.ts';
import { html } from '../html.ts';
import { place, setParameters } from '../router.ts';
import { AddUser } from './add.ts';
import { COLUMNS, isUserColumn, UNLISTED_COLUMNS } from './columns.ts';
import { removeUser } from './remove.ts';
import { UserSheet } from './user-sheet.ts';

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
