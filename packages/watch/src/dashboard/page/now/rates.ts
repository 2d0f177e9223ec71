import { useMemo, useState } from 'preact/hooks';
import type { RatesView } from '../../now/view.ts';
import { Choice } from '../components/choice.ts';
import { useWatch } from '../connection.ts';
import { count, counted, rate, timeOfDay } from '../format.ts';
import { html } from '../html.ts';
import { place, setParameters } from '../router.ts';
import { pointsOf, type Point, RatesChart } from './rates-chart.ts';

const SPANS = [
  { value: 'minutes', title: '2 minutes', step: 1000, span: 120_000 },
  { value: 'hour', title: '1 hour', step: 30_000, span: 3_600_000 },
] as const;

/** The rates of two minutes or an hour, as a chart and as a table. */
export function Rates() {
  const view = useWatch<RatesView>('rates').value;
  const { value, step, span } = place.value.parameters['span'] === 'hour' ? SPANS[1] : SPANS[0];
  const found = value === 'hour' ? view?.halfMinutes : view?.seconds;
  const points = useMemo(() => (found ? pointsOf(found) : []), [found]);
  const now = view?.now;
  return html`<section class="card" aria-labelledby="rates">
    <div class="bar">
      <h2 id="rates">Rates</h2>
      <${Choice}
        label="Time"
        options=${SPANS}
        value=${value}
        onChoose=${(next: string) => setParameters({ span: next === 'hour' ? next : '' })}
      />
      <p class="legend dim">
        <span class="line-down" aria-hidden="true"></span> down ${now ? rate(now.down) : '–'}
        <span class="line-up" aria-hidden="true"></span> up ${now ? rate(now.up) : '–'}
        ${now && html`<span>${counted(now.flows, 'flow')}</span>`}
      </p>
    </div>
    ${
      points.length < 2
        ? html`<p class="dim">
            ${view ? 'The chart begins with the second sample.' : 'Waiting for the dashboard.'}
          </p>`
        : html`<${RatesChart} points=${points} step=${step} span=${span} />`
    }
    <${RatesTable} points=${points} />
  </section>`;
}

/** The rates as a table; its rows are rendered only while it is open. */
function RatesTable({ points }: { readonly points: readonly Point[] }) {
  const [open, setOpen] = useState(false);
  return html`<details
    onToggle=${(event: Event) =>
      setOpen(event.currentTarget instanceof HTMLDetailsElement && event.currentTarget.open)}
  >
    <summary>The same as a table</summary>
    ${
      open &&
      html`<div class="scroll rates-table" tabindex="0" role="region" aria-label="Table of rates">
        <table class="plain">
          <thead>
            <tr>
              <th scope="col">Time</th>
              <th scope="col" class="number">Down</th>
              <th scope="col" class="number">Up</th>
              <th scope="col" class="number">Flows</th>
            </tr>
          </thead>
          <tbody>
            ${points.toReversed().map(
              ({ at, up, down, flows }) =>
                html`<tr key=${at}>
                  <th scope="row">${timeOfDay(at)}</th>
                  <td class="number">${rate(down)}</td>
                  <td class="number">${rate(up)}</td>
                  <td class="number">${count(flows)}</td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>`
    }
  </details>`;
}
