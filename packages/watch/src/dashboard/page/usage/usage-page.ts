import type { UsageBar, UsageRange, UsageRow, RecordedUsageView } from '../../usage/view.ts';
import { Choice } from '../components/fields.ts';
import { PlainTable } from '../components/plain-table.ts';
import { Empty } from '../components/states.ts';
import { useWatch } from '../connection.ts';
import { bytes, count, counted, escaped, Name } from '../format.ts';
import { html } from '../html.ts';
import { linkTo, place, setParameters } from '../router.ts';

const BY = [
  ['user', 'User'],
  ['inbound', 'Inbound'],
  ['outbound', 'Outbound'],
  ['source', 'Source'],
  ['host', 'Host'],
] as const;

const RANGES = [
  ['day', '24 hours'],
  ['week', '7 days'],
  ['month', '30 days'],
  ['year', '12 months'],
] as const satisfies readonly (readonly [UsageRange, string])[];

/** The page Usage. Its state is in the address: the dimension, the time, and the name that the chart shows. */
export function UsagePage() {
  const { by = 'user', range = 'month', name } = place.value.parameters;
  const view = useWatch<RecordedUsageView>('usage', {
    by,
    range,
    ...(name !== undefined && { name }),
  }).value;
  return html`<div class="bar">
      <${Choice}
        label="By"
        value=${by}
        options=${BY}
        onChange=${(chosen: string) => setParameters({ by: chosen, name: '' })}
      />
      <${Choice}
        label="Last"
        value=${range}
        options=${RANGES}
        onChange=${(chosen: string) => setParameters({ range: chosen })}
      />
      ${
        name !== undefined &&
        html`<button type="button" onClick=${() => setParameters({ name: '' })}>
          Show all in the chart
        </button>`
      }
    </div>
    ${content(view, name)}`;
}

function content(view: RecordedUsageView | undefined, name: string | undefined) {
  if (!view) return html`<p class="dim">Loading …</p>`;
  if (view.kind === 'none') {
    return html`<${Empty} title="No usage is recorded">
      <p>${escaped(view.problem)}</p>
      <p>
        <code>weir usage record</code> records it; <code>weir dashboard --usage FILE</code> names
        its database.
      </p>
    <//>`;
  }
  return html`<${Chart} view=${view} name=${name} /><${Names} view=${view} shown=${name} />`;
}

type ReadView = Extract<RecordedUsageView, { readonly kind: 'read' }>;

/** Size of the chart in its own units. */
const WIDTH = 720;
const HEIGHT = 160;

const PERIODS: Readonly<Record<ReadView['unit'], string>> = {
  hours: 'an hour',
  days: 'a day',
  months: 'a month',
};

/** Bytes up above bytes down, one bar for each period. */
function Chart({ view, name }: { readonly view: ReadView; readonly name: string | undefined }) {
  const { bars, unit } = view;
  const most = Math.max(1, ...bars.map(({ up, down }) => up + down));
  const step = WIDTH / bars.length;
  const peak = bars.reduce((a, b) => (b.up + b.down > a.up + a.down ? b : a));
  const what = name === undefined ? 'All' : escaped(name);
  const label = `${what}, by ${unit}: at most ${bytes(peak.up + peak.down)}, ${timeOf(peak, unit)}`;
  return html`<section class="card usage-chart" aria-labelledby="usage-chart">
    <h2 id="usage-chart">${name === undefined ? 'All' : html`<${Name} text=${name} />`}</h2>
    <p class="dim">
      ${`Up to ${bytes(peak.up + peak.down)} in ${PERIODS[unit]}; of each bar the lower part is down, the upper part up.`}
    </p>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" preserveAspectRatio="none" role="img" aria-label=${label}>
      ${bars.map((bar, index) => {
        const down = (bar.down / most) * HEIGHT;
        const up = (bar.up / most) * HEIGHT;
        const x = index * step + step * 0.1;
        return html`<g key=${bar.id}>
          <title>${timeOf(bar, unit)}: ${bytes(bar.down)} down, ${bytes(bar.up)} up</title>
          <rect class="hit" x=${index * step} y="0" width=${step} height=${HEIGHT} />
          <rect class="down" x=${x} y=${HEIGHT - down} width=${step * 0.8} height=${down} />
          <rect class="up" x=${x} y=${HEIGHT - down - up} width=${step * 0.8} height=${up} />
        </g>`;
      })}
    </svg>
    <p class="usage-ends dim">
      <span>${timeOf(bars[0], unit)}</span><span>${timeOf(bars.at(-1), unit)}</span>
    </p>
  </section>`;
}

/** The begin of a period, in UTC as the sums are. */
function timeOf(bar: UsageBar | undefined, unit: ReadView['unit']): string {
  const text = new Date(bar?.id ?? 0).toISOString();
  if (unit === 'months') return text.slice(0, 7);
  return unit === 'days' ? text.slice(0, 10) : `${text.slice(0, 16).replace('T', ' ')} UTC`;
}

/** The names with the most bytes; the chart shows the one that is followed. */
function Names({ view, shown }: { readonly view: ReadView; readonly shown: string | undefined }) {
  const { rows, total, more } = view;
  if (rows.length === 0) return html`<${Empty} title="Nothing was used in this time" />`;
  return html`<section class="card" aria-labelledby="usage-names">
    <h2 id="usage-names">${bytes(total.up + total.down)} in ${counted(total.flows, 'flow')}</h2>
    <${PlainTable}
      heads=${['Name', 'Up', 'Down', 'Flows']}
      rows=${rows.map((row) => ({
        key: row.id,
        cells: [
          html`<${RowName} row=${row} isShown=${row.name === shown} />`,
          bytes(row.up),
          bytes(row.down),
          html`<span class="dim">${count(row.flows)}</span>`,
        ],
      }))}
    />
    ${more > 0 && html`<p class="dim">And ${counted(more, 'name')} more: <code>weir usage</code> prints all.</p>`}
  </section>`;
}

function RowName({
  row: { name },
  isShown,
}: {
  readonly row: UsageRow;
  readonly isShown: boolean;
}) {
  if (name === null) return html`<span class="dim">others, whose names were not kept</span>`;
  if (name === '') return html`<span class="dim">no name</span>`;
  const { by, range } = place.value.parameters;
  return html`<a
    href=${linkTo('usage', { by, range, name: isShown ? '' : name })}
    aria-current=${isShown ? 'true' : undefined}
    ><${Name} text=${name}
  /></a>`;
}
