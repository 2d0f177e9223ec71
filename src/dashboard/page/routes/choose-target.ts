import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { RouteTargetsView, TargetRow as Target } from '../../routes/view.ts';
import { Dialog } from '../components/dialog.ts';
import { enterRows, Grid } from '../components/grid.ts';
import type { Column } from '../components/grid-column.ts';
import { narrow } from '../components/media.ts';
import { Empty } from '../components/states.ts';
import { useWatch } from '../connection.ts';
import { count, counted, escaped, Name } from '../format.ts';
import { html } from '../html.ts';
import { ProbeCell } from '../nodes/columns.ts';
import { probe, Progress } from '../nodes/probe.ts';
import { pickWithPreview, routeName } from './pick.ts';

const COLUMNS: readonly Column<Target>[] = [
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
export function ChooseTarget({
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
      columns=${COLUMNS}
      window=${{ first: view?.first ?? 0, total: view?.total ?? 0, rows }}
      id=${({ id }: Target) => id}
      onWindow=${(first: number, wanted: number) => setShown({ first, count: wanted })}
      onOpen=${choose}
      empty=${html`<${Empty} title=${view ? 'No target has this in its name' : 'Waiting for the routes'} />`}
    />
  <//>`;
}
