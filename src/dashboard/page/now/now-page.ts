import type { NowView } from '../../now/view.ts';
import { Choice } from '../components/choice.ts';
import { useWatch } from '../connection.ts';
import { html } from '../html.ts';
import { Failing } from './failing.ts';
import { Coverage, Largest } from './largest.ts';
import { LastReload } from './last-reload.ts';
import { LostBalancers } from './lost-balancers.ts';
import { Rates } from './rates.ts';
import { place, setParameters } from '../router.ts';

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
