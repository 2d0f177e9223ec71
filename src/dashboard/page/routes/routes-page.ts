import { useState } from 'preact/hooks';
import type { RouteRow, RoutesView } from '../../routes/view.ts';
import { useCommands } from '../commands.ts';
import { Grid } from '../components/grid.ts';
import type { Column } from '../components/grid-column.ts';
import { Empty } from '../components/states.ts';
import { useWatch } from '../connection.ts';
import { count, counted, escaped, Failure, Name, rate } from '../format.ts';
import { Search } from '../components/search.ts';
import { html } from '../html.ts';
import { place } from '../router.ts';
import { ChooseTarget } from './choose-target.ts';
import { FailedPickDialog } from './failed-pick.ts';
import { pickWithPreview, routeName } from './pick.ts';
import { UnloadedBox } from './unloaded-box.ts';

/** Texts for why flows of groups are not counted. */
const NO_COUNTS = {
  absent:
    'Without the control socket, which rules belong to a group is not known: only the flows of the default route are counted.',
  lost: 'The control socket is lost: only the flows of the default route are counted.',
  connecting: 'Waiting for the control socket to count the flows of groups.',
} as const;

const COLUMNS: readonly Column<RouteRow>[] = [
  {
    key: 'name',
    title: 'Route',
    width: 'minmax(8rem, 1.2fr)',
    card: 'title',
    cell: ({ id, name }) =>
      id === 0 ? html`<strong>Default route</strong>` : html`<${Name} text=${name} title />`,
  },
  {
    key: 'pick',
    title: 'Pick',
    width: 'minmax(6rem, 1fr)',
    cell: ({ pick }) =>
      pick === null ? html`<span class="dim">none</span>` : html`<${Name} text=${pick} title />`,
  },
  {
    key: 'way',
    title: 'Goes to',
    width: 'minmax(9rem, 1.6fr)',
    card: 'line',
    cell: (row) => html`<span title=${wayText(row)}>${wayText(row)}</span>`,
  },
  {
    key: 'kind',
    title: 'Kind',
    width: 'minmax(5.5rem, 0.7fr)',
    cell: (row) =>
      html`<span title=${membersText(row)}
        >${row.kind ?? ''}${row.members.length > 0 ? ` (${membersText(row)})` : ''}</span
      >`,
  },
  {
    key: 'flows',
    title: 'Flows',
    width: '4.5rem',
    end: true,
    card: 'aside',
    cell: ({ flows }) => (flows === null ? html`<span class="dim">?</span>` : count(flows)),
  },
  {
    key: 'rate',
    title: 'Down, up',
    width: '10rem',
    end: true,
    card: 'line-end',
    cell: ({ downRate, upRate, flows }) =>
      flows === null ? '' : `${rate(downRate)}  ${rate(upRate)}`,
  },
];

/** The inheritance of a route as text: `inherits asia → default → osaka`. */
function wayText({ chain, pick, target, inherit }: RouteRow): string {
  const to =
    target === null
      ? 'nowhere: it inherits in a circle or from what does not exist'
      : escaped(target);
  if (pick !== null || inherit === null) return `→ ${to}`;
  const way = chain.map((name) => (name === 'default' ? 'default route' : escaped(name)));
  return `inherits → ${[...way, to].join(' → ')}`;
}

/** Members with their health: `osaka up, tokyo down`. */
const membersText = ({ members }: RouteRow): string =>
  members
    .map(({ name, health }) => `${escaped(name)} ${HEALTH[health] ?? escaped(health)}`)
    .join(', ');

const HEALTH: Readonly<Record<string, string>> = {
  available: 'up',
  unavailable: 'down',
  unknown: 'not probed',
};

export function RoutesPage() {
  const find = place.value.parameters['find'] ?? '';
  const [shown, setShown] = useState({ first: 0, count: 40 });
  const [active, setActive] = useState<RouteRow | undefined>(undefined);
  const [chosen, choose] = useState<RouteRow | undefined>(undefined);
  const view = useWatch<RoutesView>('routes', { find, ...shown }).value;
  const readOnly = view?.readOnly !== false;
  const rows = view?.rows ?? [];
  const open = (row: RouteRow) => {
    if (!readOnly) choose(row);
  };
  useCommands(
    readOnly
      ? []
      : [
          ...(active
            ? [
                {
                  title: `Pick a target for ${routeName(active.name)}`,
                  group: 'Routes',
                  key: 'p',
                  run: () => open(active),
                },
              ]
            : []),
          ...(active && active.pick !== null
            ? [
                {
                  title: `Remove the pick of ${routeName(active.name)}`,
                  group: 'Routes',
                  key: 'x',
                  run: () => void pickWithPreview(active.name, null),
                },
              ]
            : []),
          ...rows.map((row) => ({
            title: `Pick a target for ${routeName(row.name)}`,
            group: 'Routes',
            run: () => open(row),
          })),
        ],
  );
  return html`${view?.unloaded && html`<${UnloadedBox} unloaded=${view.unloaded} readOnly=${readOnly} />`}
    <div class="bar">
      <${Search}
        label="Search routes"
        placeholder="Search routes and targets"
        parameter="find"
        value=${find}
      />
      <span class="dim">${view ? counted(view.all, 'group') : ''}</span>
      <button type="button" disabled=${readOnly || !active} onClick=${() => active && open(active)}>
        Pick a target…
      </button>
    </div>
    ${view?.unread && html`<${Failure} text=${`The routes are older than the files, which cannot be read: ${view.unread}`} />`}
    ${view?.noCounts && html`<p class="dim">${NO_COUNTS[view.noCounts]}</p>`}
    ${
      view && view.earlier > 0
        ? html`<p class="dim">
            ${counted(view.earlier, 'open flow')} routed by earlier rules${' '}
            ${view.earlier === 1 ? 'belongs' : 'belong'} to no group of now.
          </p>`
        : null
    }
    <${Grid}
      label="Routes in the order in which they are matched"
      columns=${COLUMNS}
      window=${{ first: view?.first ?? 0, total: view?.total ?? 0, rows }}
      id=${({ id }: RouteRow) => id}
      onWindow=${(first: number, wanted: number) => setShown({ first, count: wanted })}
      onOpen=${open}
      onActive=${setActive}
      empty=${html`<${Empty} title=${view?.etag ? 'No route has this in its name or target' : 'Waiting for the routes'} />`}
    />
    ${chosen !== undefined && html`<${ChooseTarget} group=${chosen.name} hasPick=${chosen.pick !== null} onClose=${() => choose(undefined)} />`}
    <${FailedPickDialog} />`;
}
