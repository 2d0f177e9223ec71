import type { LostBalancersView } from '../../nodes/view.ts';
import { useWatch } from '../connection.ts';
import { count, Name } from '../format.ts';
import { html } from '../html.ts';
import { linkTo } from '../router.ts';

/** Balancers whose subscriptions no longer have any of their nodes; renders nothing if there are none. */
export function LostBalancers() {
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
