import type {
  CoverageView,
  LargestKind,
  LargestRow,
  LargestView,
  SumOrder,
} from '../../now/view.ts';
import { connectionsLink } from '../connections-link.ts';
import { bytes, count, counted, Name, rate, since } from '../format.ts';
import { html } from '../html.ts';

const TITLES: Readonly<Record<LargestKind, string>> = {
  hosts: 'Hosts',
  outbounds: 'Outbounds',
  sources: 'Sources',
  users: 'Users',
};

/** The five largest of one kind, and the amount that belongs to none of them. */
export function Largest({
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
        : html`<table class="plain">
            <thead>
              <tr>
                <th scope="col">Name</th>
                <th scope="col" class="number">${by === 'rate' ? 'Rate' : 'Bytes'}</th>
                <th scope="col" class="number">Flows</th>
              </tr>
            </thead>
            <tbody>
              ${rows.map(
                (row) =>
                  html`<tr key=${row.id}>
                    <th scope="row">
                      <a href=${linkOf(id, row)}><${RowName} row=${row} /></a>
                    </th>
                    <td class="number">${shown(row[by])}</td>
                    <td class="number dim">${count(row.flows)}</td>
                  </tr>`,
              )}
            </tbody>
          </table>`
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
export function Coverage({ view, by }: { readonly view: CoverageView; readonly by: SumOrder }) {
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
