import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  ConnectionDetails,
  ConnectionRow,
  ConnectionListView,
} from '../../connections/view.ts';
import { useCommands } from '../commands.ts';
import { Grid, type Sort } from '../components/grid.ts';
import { announce } from '../components/live-region.ts';
import { narrow, wide } from '../components/media.ts';
import { session, useWatch } from '../connection.ts';
import { counted } from '../format.ts';
import { html } from '../html.ts';
import { go, place, setParameters } from '../router.ts';
import { Bar } from './bar.ts';
import { closeFlow, closeMatching } from './close.ts';
import { CARDS, isGroup, MIDDLE, WIDE } from './columns.ts';
import { DetailsSheet } from './details.ts';
import { useFreeze } from './freeze.ts';
import { NoRows } from './no-rows.ts';
import { isAmount, openGroups, queryOf, SORTS, type ListQuery } from './query.ts';

const FIRST_ROWS = 40;

const NOTHING: ConnectionListView = {
  rows: [],
  first: 0,
  total: 0,
  matching: 0,
  flows: 0,
  fresh: 0,
  filter: '',
  problem: null,
  listed: false,
};

/** The page Connections. Its state is in the address: filter, order, groups, and the flow whose details are open. */
export function ConnectionsPage() {
  const { parameters } = place.value;
  const query = queryOf(parameters);
  const [window, setWindow] = useState({ first: 0, count: FIRST_ROWS });
  const freeze = useFreeze();
  const list = useWatch<ConnectionListView>('connections', {
    ...query,
    ...window,
    freeze: freeze.word,
  });
  const view = list.value ?? NOTHING;
  const [active, setActive] = useState<ConnectionRow | undefined>(undefined);
  const readOnly = session.value?.readOnly === true;
  useAnnouncedCount(view);

  const close = () => {
    if (active === undefined || readOnly) return;
    if (!isGroup(active))
      void closeFlow(active.id, `${active.sniffed ?? active.host}:${active.port}`);
  };
  const sortBy = (sort: Sort) => {
    freeze.renew();
    setParameters({ sort: sort.key, order: sort.descending ? 'descending' : 'ascending' });
  };
  useCommands([
    {
      title: 'Sort by the next column',
      group: 'Connections',
      key: 's',
      run: () => sortBy(nextSort(query)),
    },
    {
      title: freeze.isPressed ? 'Let rows move' : 'Freeze rows',
      group: 'Connections',
      key: 'f',
      run: freeze.toggle,
    },
    ...(readOnly
      ? []
      : [
          { title: 'Close this connection', group: 'Connections', key: 'x', run: close },
          {
            title:
              query.filter === '' ? 'Close all connections' : 'Close all that match the filter',
            group: 'Connections',
            key: 'X',
            run: () => void closeMatching(query.filter),
          },
        ]),
  ]);

  const open = (row: ConnectionRow) => {
    if (isGroup(row)) setParameters({ open: openGroups(query.open, row.group) }, { replace: true });
    else setParameters({ id: String(row.id) });
  };
  const columns = narrow.value ? CARDS : wide.value ? WIDE : MIDDLE;
  return html`<${Bar} query=${query} view=${view} freeze=${freeze} readOnly=${readOnly} />
    <${Grid}
      label="Connections"
      columns=${columns}
      window=${view}
      id=${idOf}
      sort=${{ key: query.sort, descending: query.descending }}
      onSort=${sortBy}
      onWindow=${(first: number, count: number) => setWindow({ first, count })}
      onOpen=${open}
      onActive=${setActive}
      onHold=${freeze.hold}
      rowClass=${classOf}
      empty=${list.value === undefined ? 'Loading …' : html`<${NoRows} view=${view} filter=${query.filter} />`}
    />
    ${parameters['id'] === undefined ? null : html`<${Details} id=${Number(parameters['id'])} readOnly=${readOnly} />`}`;
}

const idOf = (row: ConnectionRow): string | number => row.id;

const classOf = (row: ConnectionRow): string => {
  if (isGroup(row)) return 'group';
  return row.closedAt === null ? '' : 'closed';
};

function Details({ id, readOnly }: { readonly id: number; readonly readOnly: boolean }) {
  const watched = useWatch<ConnectionDetails>('connection', { id });
  const last = useRef<ConnectionDetails | undefined>(undefined);
  // The last known state of a flow stays visible while its details are open.
  if (watched.value?.flow.id === id) last.current = watched.value;
  const known = last.current?.flow.id === id ? last.current : watched.value;
  const { id: _, ...others } = place.value.parameters;
  return html`<${DetailsSheet}
    details=${known}
    readOnly=${readOnly}
    onClose=${() => go('connections', others)}
  />`;
}

/** Announces the number of matching flows to screen readers once the list of a new filter has arrived. */
function useAnnouncedCount({ filter, matching, problem, listed }: ConnectionListView): void {
  const isFirst = useRef(true);
  useEffect(() => {
    if (!listed) return;
    if (!isFirst.current)
      announce(
        problem?.message ??
          `${counted(matching, 'connection')} ${matching === 1 ? 'matches' : 'match'}`,
      );
    isFirst.current = false;
  }, [filter, problem?.message, listed]);
}

function nextSort({ sort }: ListQuery): Sort {
  const at = SORTS.findIndex(([key]) => key === sort);
  const [key = 'age'] = SORTS[(at + 1) % SORTS.length] ?? [];
  return { key, descending: isAmount(key) };
}
