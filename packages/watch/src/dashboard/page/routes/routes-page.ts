import { useState, useLayoutEffect, useRef } from 'preact/hooks';
import type {
  RouteRow,
  RoutesView,
  ConflictSide,
  ConflictView,
  RouteTargetsView,
  TargetRow as Target,
} from '../../routes/view.ts';
import { useCommands } from '../commands.ts';
import { Grid, type Column, enterRows } from '../components/grid.ts';
import { Empty } from '../components/states.ts';
import { useWatch } from '../connection.ts';
import { count, counted, escaped, Failure, Name, rate } from '../format.ts';
import { Search } from '../components/fields.ts';
import { html } from '../html.ts';
import { place } from '../router.ts';
import { pickWithPreview, routeName, failedPick, pick } from './pick.ts';
import { UnloadedBox } from './unloaded-box.ts';
import { Dialog } from '../components/dialog.ts';
import { notify, notifyFailure } from '../components/notice.ts';
import { Refusal } from '../components/refusal.ts';
import { narrow } from '../components/media.ts';
import { ProbeCell } from '../nodes/columns.ts';
import { probe, Progress } from '../nodes/probe.ts';

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

const close = (): void => {
  failedPick.value = undefined;
};

/** Explains why a pick failed: another writer, or a configuration that would be invalid. */
function FailedPickDialog() {
  const failed = failedPick.value;
  if (!failed) return null;
  if (failed.kind === 'conflict') return html`<${Conflict} conflict=${failed} />`;
  const { group, target, refusal } = failed;
  return html`<${Dialog} title="The pick was refused" onClose=${close}>
    <p>
      ${
        target === null
          ? html`The pick of ${escaped(routeName(group))} was not removed`
          : html`${escaped(routeName(group))} was not sent to <${Name} text=${target} />`
      }:
      the configuration would be invalid. The file is as it was.
    </p>
    <${Refusal} refusal=${refusal} />
    <div class="dialog-actions">
      <button type="button" autofocus onClick=${close}>Close</button>
    </div>
  <//>`;
}

function Conflict({ conflict }: { readonly conflict: ConflictView }) {
  const { group, target, etag, seen, theirs, others, moreOthers, possible } = conflict;
  const takeTheirs = () => {
    close();
    notify({
      kind: 'done',
      text: 'Nothing was changed: the file stays as the other writer left it.',
    });
  };
  const applyMine = async () => {
    close();
    try {
      await pick({ group, target, etag, close: false });
    } catch (error) {
      notifyFailure('The pick was not confirmed', error);
    }
  };
  return html`<${Dialog} title="The file has been changed meanwhile" onClose=${close}>
    <p>Another writer came first, so your pick was not made. Nothing has been lost.</p>
    <div class="scroll" tabindex="0" role="region" aria-label="Both versions">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Route</th>
            <th scope="col">You saw</th>
            <th scope="col">The file now</th>
            <th scope="col">You want</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">${escaped(routeName(group))}</th>
            <td>${side(seen)}</td>
            <td>${side(theirs)}</td>
            <td>
              <strong>${target === null ? 'no pick' : html`<${Name} text=${target} />`}</strong>
            </td>
          </tr>
          ${others.map(
            (other) =>
              html`<tr key=${other.name}>
                <th scope="row">${escaped(routeName(other.name))}</th>
                <td>${side(other.seen)}</td>
                <td>${side(other.theirs)}</td>
                <td class="dim">as the file now</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${moreOthers > 0 && html`<p class="dim">${moreOthers} further routes have changed.</p>`}
    ${
      others.length === 0 && seen?.pick === theirs?.pick
        ? html`<p class="dim">
            The routes are as you saw them: something else in the file changed.
          </p>`
        : null
    }
    ${!possible && html`<p class="error">The route or the target is not there any more.</p>`}
    <div class="dialog-actions">
      <button type="button" autofocus onClick=${takeTheirs}>Take theirs</button>
      <button type="button" class="primary" disabled=${!possible} onClick=${() => void applyMine()}>
        Apply mine on top
      </button>
    </div>
  <//>`;
}

const side = (route: ConflictSide | null) =>
  route === null
    ? html`<span class="dim">not there</span>`
    : route.pick === null
      ? html`<span class="dim">no pick</span> →${' '}
          ${route.target === null ? 'nothing' : html`<${Name} text=${route.target} />`}`
      : html`<${Name} text=${route.pick} />`;

const TARGET_COLUMNS: readonly Column<Target>[] = [
  {
    key: 'name',
    title: 'Target',
    width: 'minmax(6rem, 1fr)',
    card: 'title',
    cell: ({ name, isDown }) =>
      html`<${Name} text=${name} title />${isDown && html` <span class="badge bad">✕ down</span>`}`,
  },
  { key: 'kind', title: 'Kind', width: '4.75rem', card: 'line', cell: ({ kind }) => kind },
  {
    key: 'delay',
    title: 'Delay',
    width: '5rem',
    end: true,
    card: 'aside',
    cell: ({ probe, probed }) =>
      html`<span title=${probed === null ? undefined : `of ${escaped(probed)}`}
        ><${ProbeCell} probe=${probe}
      /></span>`,
  },
  {
    key: 'flows',
    title: 'Open flows',
    width: '5.25rem',
    end: true,
    card: 'line-end',
    cell: ({ flows }) => (narrow.value ? counted(flows, 'open flow') : count(flows)),
  },
];

/** A dialog that chooses the new target of a route: a search over the names that can be picked. */
function ChooseTarget({
  group,
  hasPick,
  onClose,
}: {
  readonly group: string;
  /** Whether the group has a pick that can be removed. */
  readonly hasPick: boolean;
  readonly onClose: () => void;
}) {
  const [find, setFind] = useState('');
  const [presses, setPresses] = useState(0);
  const [shown, setShown] = useState({ first: 0, count: 40 });
  const view = useWatch<RouteTargetsView>('route-targets', { find, ...shown }).value;
  const rows = view?.rows ?? [];
  const send = (target: string | null) => {
    onClose();
    void pickWithPreview(group, target);
  };
  const choose = ({ name }: Target) => send(name);
  /** A key pressed in the search that waits for the rows of the text typed before it. */
  const awaiting = useRef<'Enter' | 'ArrowDown' | undefined>(undefined);
  const field = useRef<HTMLInputElement>(null);
  useLayoutEffect(() => {
    if (view?.find !== find || awaiting.current === undefined) return;
    const [only, other] = rows;
    if (awaiting.current === 'Enter' && only && !other) choose(only);
    else enterRows(field.current?.closest('dialog')?.querySelector<HTMLElement>('[role=grid]'));
    awaiting.current = undefined;
  });
  const onKey = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' && event.key !== 'ArrowDown') return;
    event.preventDefault();
    awaiting.current = event.key;
    setPresses(presses + 1);
  };
  return html`<${Dialog} sheet title=${`New target of ${routeName(group)}`} onClose=${onClose}>
    <input
      type="search"
      aria-label="Search targets"
      placeholder="Search, then ↓ and Enter"
      autofocus
      ref=${field}
      value=${find}
      onInput=${(event: Event) => {
        if (event.target instanceof HTMLInputElement) setFind(event.target.value);
        setShown({ ...shown, first: 0 });
        awaiting.current = undefined;
      }}
      onKeyDown=${onKey}
    />
    <div class="bar">
      ${
        hasPick &&
        html`<button type="button" onClick=${() => send(null)}>
          ${group === 'default' ? 'No pick…' : 'No pick: inherit again…'}
        </button>`
      }
      ${
        view?.probing.isPossible === true &&
        !view.probing.isRunning &&
        html`<button
          type="button"
          disabled=${view.total === 0}
          title="One or more requests through each outbound: the traffic counts at the providers"
          onClick=${() => void probe({ search: find, byTarget: true })}
        >
          ${find === '' ? 'Measure delays' : 'Measure these'}
        </button>`
      }
      ${view && html`<${Progress} probing=${view.probing} />`}
    </div>
    <${Grid}
      label="Targets"
      columns=${TARGET_COLUMNS}
      window=${{ first: view?.first ?? 0, total: view?.total ?? 0, rows }}
      id=${({ id }: Target) => id}
      onWindow=${(first: number, wanted: number) => setShown({ first, count: wanted })}
      onOpen=${choose}
      empty=${html`<${Empty} title=${view ? 'No target has this in its name' : 'Waiting for the routes'} />`}
    />
  <//>`;
}
