import { useEffect, useRef, useState } from 'preact/hooks';
import type { NodeRow, NodesView } from '../../nodes/view.ts';
import { useCommands } from '../commands.ts';
import { FileNote } from '../components/file-note.ts';
import { Choice } from '../components/fields.ts';
import { Grid, type Sort } from '../components/grid.ts';
import { announce } from '../components/live-region.ts';
import { narrow } from '../components/media.ts';
import { Search } from '../components/search.ts';
import { Empty } from '../components/states.ts';
import { useWatch } from '../connection.ts';
import { useFreeze } from '../connections/freeze.ts';
import { count, counted } from '../format.ts';
import { html } from '../html.ts';
import { place, setParameters } from '../router.ts';
import { COLUMNS } from './columns.ts';
import { NodeSheet } from './node-sheet.ts';
import { cancelProbe, probe, ProbeDialog, Progress } from './probe.ts';
import { Subscriptions } from './subscriptions.ts';

const SORTS = [
  ['file', 'order of the file'],
  ['tag', 'name'],
  ['protocol', 'protocol'],
  ['flows', 'flows'],
  ['rate', 'rate'],
  ['total', 'total'],
  ['second', 'probe'],
] as const;

/** The page Nodes. Its state is in the address: search, order, and the node that is open. */
export function NodesPage() {
  const { search = '', sort = 'file', order = '', node } = place.value.parameters;
  const [window, setWindow] = useState({ first: 0, count: 40 });
  const [active, setActive] = useState<NodeRow | undefined>(undefined);
  const [asksAll, setAsksAll] = useState(false);
  const freeze = useFreeze();
  const key = SORTS.find(([each]) => each === sort)?.[0] ?? 'file';
  const descending = order === 'descending';
  const ordered = { sort: key, descending, held: freeze.word !== '' };
  const view = useWatch<NodesView>('nodes', { search, ...ordered, ...window }).value;
  const probing = view?.probing;
  const canProbe = probing?.isPossible === true && !probing.isRunning;
  useCommands([
    ...(canProbe
      ? [
          {
            title: 'Probe this node',
            group: 'Nodes',
            key: 'p',
            run: () => active && void probe({ tag: active.tag }),
          },
          { title: 'Probe all nodes', group: 'Nodes', key: 'P', run: () => setAsksAll(true) },
        ]
      : []),
    ...(probing?.isRunning === true
      ? [{ title: 'Cancel the probe', group: 'Nodes', key: 'x', run: cancelProbe }]
      : []),
  ]);
  useAnnouncedProbe(view);
  const sortBy = (by: Sort) => {
    freeze.renew();
    setParameters({ sort: by.key, order: by.descending ? 'descending' : '' });
  };
  return html`${view && html`<${FileNote} file=${view.file} />`}
    <${Subscriptions} />
    <div class="bar">
      <${Search}
        label="Search nodes"
        placeholder="Search: a name, a server, is:down, is:insecure"
        value=${search}
      />
      ${
        narrow.value &&
        html`<${Choice}
          label="Sort"
          value=${key}
          options=${SORTS}
          onChange=${(chosen: string) => setParameters({ sort: chosen, order: '' })}
        />`
      }
      ${probing && html`<${Progress} probing=${probing} />`}
      ${
        probing?.isRunning === false &&
        html`<button
          type="button"
          disabled=${!canProbe || view?.probable === 0}
          onClick=${() => setAsksAll(true)}
        >
          Probe ${search === '' ? 'all' : count(view?.probable ?? 0)} …
        </button>`
      }
    </div>
    ${
      view &&
      html`<p class="list-state">
        <span
          >${view.matching === view.total ? counted(view.total, 'node') : `${count(view.matching)} of ${counted(view.total, 'node')}`}${view.more > 0 && `; ${count(view.more)} more are not listed`}</span
        >
        ${!view.probing.isPossible && html`<span>Probes go through the control socket, which is not there.</span>`}
      </p>`
    }
    <${Grid}
      label="Nodes"
      columns=${COLUMNS}
      window=${{ first: view?.first ?? 0, total: view?.matching ?? 0, rows: view?.rows ?? [] }}
      id=${({ id }: NodeRow) => id}
      sort=${{ key, descending }}
      onSort=${sortBy}
      onWindow=${(first: number, wanted: number) => setWindow({ first, count: wanted })}
      onOpen=${({ id }: NodeRow) => setParameters({ node: id })}
      onActive=${setActive}
      onHold=${freeze.hold}
      rowClass=${({ kind }: NodeRow) => (kind === 'gone' ? 'gone' : '')}
      empty=${html`<${NoNodes} view=${view} search=${search} />`}
    />
    ${node !== undefined && html`<${OpenNode} key=${node} id=${node} />`}
    ${
      asksAll &&
      probing &&
      html`<${ProbeDialog}
        search=${search}
        probing=${probing}
        onClose=${() => setAsksAll(false)}
      />`
    }`;
}

/** Details of the node in the address, which may be outside the window. */
function OpenNode({ id }: { readonly id: string }) {
  const tag = id.slice(2);
  const view = useWatch<NodesView>('nodes', { id, count: 1 }).value;
  const row = view?.rows.find((each) => each.id === id);
  const close = () => setParameters({ node: '' });
  useEffect(() => {
    if (view?.file.kind === 'read' && row === undefined) close();
  }, [view, tag]);
  return view && row
    ? html`<${NodeSheet} row=${row} probing=${view.probing} onClose=${close} />`
    : null;
}

const NoNodes = ({
  view,
  search,
}: {
  readonly view: NodesView | undefined;
  readonly search: string;
}) => {
  if (view === undefined || view.file.kind === 'reading') return 'Loading …';
  if (search === '') return html`<${Empty} title="No nodes to show" />`;
  return html`<${Empty} title="No node matches the search">
    <button type="button" onClick=${() => setParameters({ search: '' })}>Show all nodes</button>
  <//>`;
};

/** Announces the end of a probe to screen readers. */
function useAnnouncedProbe(view: NodesView | undefined): void {
  const wasRunning = useRef(false);
  const isRunning = view?.probing.isRunning === true;
  useEffect(() => {
    if (wasRunning.current && !isRunning && view) {
      announce(`${counted(view.probing.done, 'node')} probed`);
    }
    wasRunning.current = isRunning;
  }, [isRunning]);
}
