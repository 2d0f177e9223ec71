import { useEffect, useRef, useState } from 'preact/hooks';
import type { NodeRow, NodesView, SubscriptionRow, SubscriptionsView } from '../../nodes/view.ts';
import { useCommands } from '../commands.ts';
import { FileNote } from '../components/file-note.ts';
import { Choice, Search } from '../components/fields.ts';
import { Grid, type Sort } from '../components/grid.ts';
import { announce } from '../components/command-line.ts';
import { narrow } from '../components/media.ts';
import { Empty } from '../components/states.ts';
import { useWatch } from '../connection.ts';
import { useFreeze } from '../connections/freeze.ts';
import { count, counted, age, bytes, day, escaped, Name, since, now } from '../format.ts';
import { html } from '../html.ts';
import { place, setParameters } from '../router.ts';
import { COLUMNS } from './columns.ts';
import { NodeSheet } from './node-sheet.ts';
import { cancelProbe, probe, ProbeDialog, Progress } from './probe.ts';
import { UpdateDialog } from './update-dialog.ts';

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

/** The subscriptions above the list: age, quota, next update, and a button that updates them. */
function Subscriptions() {
  const view = useWatch<SubscriptionsView>('subscriptions').value;
  const [updated, setUpdated] = useState<string | undefined>(undefined);
  const { rows = [], error = null, busy = null } = view ?? {};
  useCommands(
    rows.length === 0
      ? []
      : [
          {
            title: 'Compare and update subscriptions',
            group: 'Nodes',
            key: 'u',
            run: () => setUpdated(''),
          },
        ],
  );
  if (rows.length === 0 && error === null) return null;
  return html`<section class="card subscriptions" aria-label="Subscriptions">
    <div class="bar">
      <h2>Subscriptions</h2>
      ${busy !== null && html`<span class="dim" role="status">${busy === 'compare' ? 'Fetching …' : 'Updating …'}</span>`}
      ${rows.length > 1 && html`<button type="button" onClick=${() => setUpdated('')}>Update all …</button>`}
    </div>
    ${error !== null && html`<p class="error">✕ ${escaped(error)}</p>`}
    <ul>
      ${rows.map(
        (row) =>
          html`<li key=${row.id}>
            <${Subscription} row=${row} onUpdate=${() => setUpdated(row.id)} />
          </li>`,
      )}
    </ul>
    ${updated !== undefined && html`<${UpdateDialog} name=${updated} onClose=${() => setUpdated(undefined)} />`}
  </section>`;
}

function Subscription({
  row,
  onUpdate,
}: {
  readonly row: SubscriptionRow;
  readonly onUpdate: () => void;
}) {
  const { id, host, outbound, nodes, kept, updated, due, failure } = row;
  const isDue = due <= now.value;
  return html`<div>
      <p>
        <strong><${Name} text=${id} /></strong>
        ${' '}<span class="dim">
          <${Name}
            text=${host}
          />${outbound !== null && html` through <${Name} text=${outbound} />`}</span
        >
      </p>
      <p class="dim">
        ${counted(nodes, 'node')}${kept > 0 && ` and ${kept} kept`} ·
        ${' '}${updated === null ? 'never updated' : `${since(updated)} old`} ·
        ${' '}${isDue ? 'an update is due' : `next in ${age(due - now.value)}`}
      </p>
      ${failure !== null && html`<p class="error">✕ ${since(failure.at)} ago: ${escaped(failure.message)}</p>`}
    </div>
    <${Quota} row=${row} />
    <button type="button" aria-label=${`Update ${escaped(id)}`} onClick=${onUpdate}>
      Update …
    </button>`;
}

/** The used quota and the expiry as the provider reports them. */
function Quota({ row: { used, total, expires } }: { readonly row: SubscriptionRow }) {
  if (used === null && total === null && expires === null) {
    return html`<p class="dim">The provider reports no quota.</p>`;
  }
  const isOver = expires !== null && expires <= now.value;
  return html`<div class="quota">
    <p>${used === null ? '?' : bytes(used)} used${total !== null && ` of ${bytes(total)}`}</p>
    ${
      used !== null &&
      total !== null &&
      html`<progress
        aria-label="Used of the quota"
        max=${total}
        value=${Math.min(used, total)}
      ></progress>`
    }
    ${
      expires !== null &&
      html`<p class=${isOver ? 'error' : 'dim'}>
        ${isOver ? '✕ expired' : 'expires'} ${day(expires)}
      </p>`
    }
  </div>`;
}
