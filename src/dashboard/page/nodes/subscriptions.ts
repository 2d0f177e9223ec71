import { useState } from 'preact/hooks';
import type { SubscriptionRow, SubscriptionsView } from '../../nodes/view.ts';
import { useCommands } from '../commands.ts';
import { useWatch } from '../connection.ts';
import { age, bytes, counted, day, escaped, Name, since } from '../format.ts';
import { now } from '../clock.ts';
import { html } from '../html.ts';
import { UpdateDialog } from './update-dialog.ts';

/** The subscriptions above the list: age, quota, next update, and a button that updates them. */
export function Subscriptions() {
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
