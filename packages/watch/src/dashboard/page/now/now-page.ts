import type {
  NowView,
  ReloadView,
  CoverageView,
  LargestKind,
  LargestRow,
  LargestView,
  SumOrder,
} from '../../now/view.ts';
import { Choice, Rates } from './rates.ts';
import { useWatch } from '../connection.ts';
import { PlainTable } from '../components/plain-table.ts';
import { html } from '../html.ts';
import { Failing } from './failing.ts';
import { place, setParameters, linkTo, connectionsLink } from '../router.ts';
import { escaped, since, timeOfDay, count, Name, bytes, counted, rate } from '../format.ts';
import type { LostBalancersView } from '../../nodes/view.ts';

const ORDERS = [
  { value: 'rate', title: 'By rate' },
  { value: 'bytes', title: 'By bytes' },
] as const;

/** The page Now: rates, failures, the largest hosts, outbounds, sources and users, and the last reload. */
export function NowPage() {
  const by = place.value.parameters['by'] === 'bytes' ? 'bytes' : 'rate';
  const view = useWatch<NowView>('now', { by }).value;
  return html`<${Rates} />
    ${view && html`<${Failing} failing=${view.failing} balancers=${view.balancers} />`}
    <${LostBalancers} />
    ${
      view &&
      html`<section aria-labelledby="largest">
        <div class="bar">
          <h2 id="largest">Largest</h2>
          <${Choice}
            label="Order"
            options=${ORDERS}
            value=${by}
            onChoose=${(value: string) => setParameters({ by: value === 'bytes' ? value : '' })}
          />
        </div>
        <div class="largest">
          ${view.largest.map((each) => html`<${Largest} key=${each.id} view=${each} by=${by} known=${view.coverage.since !== null} />`)}
        </div>
        <${Coverage} view=${view.coverage} by=${by} />
      </section>`
    }
    ${view && html`<${LastReload} view=${view.reload} />`}`;
}

/** The last reload with its outcome and, if it was refused, the place. */
const LastReload = ({ view }: { readonly view: ReloadView }) =>
  html`<section class="card" aria-labelledby="last-reload">
    <h2 id="last-reload">Last reload</h2>
    ${textOf(view)}
  </section>`;

function textOf(view: ReloadView) {
  switch (view.kind) {
    case 'unknown':
      return html`<p class="dim">Not known: the control socket does not answer.</p>`;
    case 'none':
      return html`<p>None since the start.</p>`;
    case 'unchanged':
      return html`<p>✓ The files had not changed, ${when(view.at)}.</p>`;
    case 'applied':
      return html`<p>✓ Applied, ${when(view.at)}.</p>
        <p class="dim">${escaped(view.text)}</p>`;
    case 'failed':
      return html`<p class="error">✕ Refused, ${when(view.at)}.</p>
        ${view.place !== null && html`<p><code>${escaped(view.place)}</code></p>`}
        <p class="reload-text">${view.text.split('\n').map(escaped).join('\n')}</p>
        <p><a href=${linkTo('config')}>See the report</a></p>`;
    default:
      return view satisfies never;
  }
}

const when = (at: number): string => `${since(at)} ago, at ${timeOfDay(at)}`;

/** Balancers whose subscriptions no longer have any of their nodes; renders nothing if there are none. */
function LostBalancers() {
  const { rows = [], more = 0 } = useWatch<LostBalancersView>('lost-balancers').value ?? {};
  if (rows.length === 0) return null;
  return html`<section class="card failing" aria-labelledby="lost-balancers">
    <h2 id="lost-balancers">Balancers without nodes</h2>
    <ul>
      ${rows.map(
        ({ id, sources }) =>
          html`<li key=${id}>
            <p>
              <strong><span aria-hidden="true">✕</span> <${Name} text=${id} /></strong>: none of its
              nodes is in${' '} <${Name} text=${sources.join(', ')} /> any more.${' '}
              <a href=${linkTo('nodes', { node: `b:${id}` })}>Its members</a>
            </p>
          </li>`,
      )}
    </ul>
    ${more > 0 && html`<p>${count(more)} more have none.</p>`}
  </section>`;
}

const TITLES: Readonly<Record<LargestKind, string>> = {
  hosts: 'Hosts',
  outbounds: 'Outbounds',
  sources: 'Sources',
  users: 'Users',
};

/** The five largest of one kind, and the amount that belongs to none of them. */
function Largest({
  view,
  by,
  known,
}: {
  readonly view: LargestView;
  readonly by: SumOrder;
  /** Whether there has been a list of connections. */
  readonly known: boolean;
}) {
  const { id, rows, others, unattributed } = view;
  const shown = by === 'rate' ? rate : bytes;
  return html`<section class="card" aria-labelledby=${`largest-${id}`}>
    <h3 id=${`largest-${id}`}>${TITLES[id]}</h3>
    ${
      rows.length === 0
        ? html`<p class="dim">
            ${!known ? 'Not known yet.' : by === 'rate' ? 'Nothing moves.' : 'Nothing has moved.'}
          </p>`
        : html`<${PlainTable}
            heads=${['Name', by === 'rate' ? 'Rate' : 'Bytes', 'Flows']}
            rows=${rows.map((row) => ({
              key: row.id,
              cells: [
                html`<a href=${linkOf(id, row)}><${RowName} row=${row} /></a>`,
                shown(row[by]),
                html`<span class="dim">${count(row.flows)}</span>`,
              ],
            }))}
          />`
    }
    ${
      known &&
      html`<p class="dim">
        ${others >= 1 && `Others ${shown(others)}. `}
        ${
          unattributed === null
            ? 'Complete: Weir counts these itself.'
            : unattributed >= 1
              ? `Unattributed ${shown(unattributed)}.`
              : 'Nothing is unattributed.'
        }
      </p>`
    }
  </section>`;
}

const RowName = ({ row: { name, inbound } }: { readonly row: LargestRow }) =>
  html`${name === null ? 'no label' : html`<${Name} text=${name} />`}${
    inbound !== null && html` <span class="dim">on <${Name} text=${inbound} /></span>`
  }`;

function linkOf(kind: LargestKind, { id, name, inbound }: LargestRow): string {
  switch (kind) {
    case 'hosts':
      return connectionsLink({ host: id });
    case 'outbounds':
      return connectionsLink({ out: id });
    case 'sources':
      return connectionsLink({ src: id });
    case 'users':
      return connectionsLink({ user: name ?? '', in: inbound ?? '' });
    default:
      return kind satisfies never;
  }
}

/** The completeness of the sums, as text. */
function Coverage({ view, by }: { readonly view: CoverageView; readonly by: SumOrder }) {
  const { since: from, total, unattributed, missed } = view;
  if (from === null) return html`<p class="dim">Waiting for the first list of connections.</p>`;
  const part = total === 0 ? 0 : (unattributed / total) * 100;
  return html`<p class="dim">
    ${
      by === 'rate'
        ? 'Rates are those between the last two lists of connections.'
        : `Bytes are those of the last ${since(from)}, since this dashboard watches; of outbounds, since the start of Weir.`
    }
    ${
      unattributed >= 1
        ? ` ${bytes(unattributed)} of ${bytes(total)} (${part < 10 ? part.toFixed(1) : part.toFixed(0)} %) were seen with no connection.`
        : ` All of ${bytes(total)} were seen with a connection.`
    }
    ${missed > 0 && ` ${counted(missed, 'event')} of connections were missed.`}
  </p>`;
}
