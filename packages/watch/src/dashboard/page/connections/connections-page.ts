import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  ConnectionDetails,
  ConnectionRow,
  ConnectionListView,
} from '../../connections/view.ts';
import { useCommands } from '../commands.ts';
import { Grid, type Sort } from '../components/grid.ts';
import { announce, CommandLine } from '../components/command-line.ts';
import { narrow, wide } from '../components/media.ts';
import { session, useWatch, watch } from '../connection.ts';
import { counted, count, escaped } from '../format.ts';
import { html } from '../html.ts';
import { go, place, setParameters } from '../router.ts';
import { closeFlow, closeMatching } from './close.ts';
import {
  CARDS,
  isGroup,
  MIDDLE,
  WIDE,
  isAmount,
  openGroups,
  queryOf,
  SORTS,
  type ListQuery,
  isSortKey,
} from './columns.ts';
import { DetailsSheet } from './details.ts';
import { useFreeze, type Freeze } from './freeze.ts';
import type { FrameView } from '../../frame/view.ts';
import { Empty, textOf } from '../components/states.ts';
import { Choice, Search } from '../components/fields.ts';

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

const FACETS = [
  'user:ann',
  'out:tokyo',
  'in:socks',
  'host:*.video',
  'port:443',
  'src:10.*',
  'net:udp',
  'rule:4',
  'age>1h',
  'up>1M',
  'rate>500k',
  'closed:yes',
];

/** Shown in place of an empty list: the reason, and the next step. */
function NoRows({ view, filter }: { readonly view: ConnectionListView; readonly filter: string }) {
  if (view.problem !== null) {
    return html`<${Empty} title="The filter cannot be read">
      <p>Parts are words, and these facets; a minus before one excludes what it matches.</p>
      <p>${FACETS.map((facet) => html`<code>${facet}</code> `)}</p>
    <//>`;
  }
  if (filter !== '' && view.listed) {
    return html`<${Empty} title="Nothing matches">
      <p>None of the connections matches the filter.</p>
      <button type="button" onClick=${() => setParameters({ filter: '' })}>
        Remove the filter
      </button>
    <//>`;
  }
  const state = watch<FrameView>('frame').value?.states.find(({ kind }) => kind === 'no-flows');
  if (state === undefined) {
    return html`<${Empty}
      title=${view.listed ? 'No connections' : 'No list of connections yet'}
    />`;
  }
  const { title, text, step, command } = textOf(state);
  return html`<${Empty} title=${title}>
    <p>${text} ${step}</p>
    ${command !== undefined && html`<${CommandLine} text=${command} />`}
  <//>`;
}

const GROUPS = [
  ['none', 'none'],
  ['outbound', 'outbound'],
  ['user', 'user'],
  ['host', 'destination'],
  ['source', 'source'],
  ['inbound', 'inbound'],
  ['rule', 'rule'],
  ['network', 'network'],
] as const;

/** Options prefixed with the name of the select box, since phones have no room for a label. */
const named = <T extends string>(name: string, options: readonly (readonly [T, string])[]) =>
  options.map(([value, title]) => [value, `${name}: ${title.toLowerCase()}`] as const);

interface BarProps {
  readonly query: ListQuery;
  readonly view: ConnectionListView;
  readonly freeze: Freeze;
  readonly readOnly: boolean;
}

/** The filter and the buttons above the list. */
function Bar({ query, view, freeze, readOnly }: BarProps) {
  const { problem } = view;
  return html`<div class="bar">
      <${Search}
        label="Filter connections"
        name="Filter"
        placeholder="Filter: user:ann out:tokyo host:*.video age>1h"
        parameter="filter"
        value=${query.filter}
        describedBy="filter-help"
        isInvalid=${problem !== null}
      />
      <${Choice}
        label="Group"
        value=${query.group}
        options=${narrow.value ? named('Group', GROUPS) : GROUPS}
        onChange=${(group: string) => setParameters({ group: group === 'none' ? '' : group, open: '' })}
      />
      ${
        narrow.value &&
        html`<${Choice}
          label="Sort"
          value=${query.sort}
          options=${named('Sort', SORTS)}
          onChange=${(sort: string) =>
            setParameters({ sort, order: isSortKey(sort) && isAmount(sort) ? 'descending' : '' })}
        />`
      }
      <button
        type="button"
        aria-pressed=${freeze.isPressed ? 'true' : 'false'}
        onClick=${freeze.toggle}
      >
        Freeze
      </button>
      ${
        !readOnly &&
        query.filter !== '' &&
        problem === null &&
        html`<button
          type="button"
          disabled=${view.matching === 0}
          onClick=${() => void closeMatching(query.filter)}
        >
          Close ${count(view.matching)} …
        </button>`
      }
    </div>
    <p class="list-state" id="filter-help">
      ${problem === null ? stateText(query, view) : html`<span class="error">✕ ${escaped(problem.message)}.</span>`}
      ${
        freeze.word !== '' &&
        html`<span class="held"
          >${freeze.isPressed ? 'frozen' : 'held in place'}${
            view.fresh > 0 &&
            html` ·
              <button type="button" class="quiet" onClick=${freeze.renew}>
                +${count(view.fresh)} new
              </button>`
          }</span
        >`
      }
    </p>`;
}

function stateText({ filter }: ListQuery, { matching, flows, listed }: ConnectionListView): string {
  if (!listed) return '';
  if (filter === '') return `${count(flows)} ${flows === 1 ? 'connection' : 'connections'}`;
  return `${count(matching)} of ${count(flows)} connections`;
}
