import type { RuleRow, RulesView } from '../../rules/view.ts';
import { connectionsLink } from '../connections-link.ts';
import { Dialog } from '../components/dialog.ts';
import { useWatch } from '../connection.ts';
import { count, counted, escaped, Name } from '../format.ts';
import { html } from '../html.ts';
import { outcomes } from './columns.ts';
import { Target } from './explanation.ts';

/** Details of one rule in a sheet at the side. */
export function RuleSheet({
  rule,
  onClose,
}: {
  readonly rule: number;
  readonly onClose: () => void;
}) {
  const view = useWatch<RulesView>('rules', { search: `rule:${rule}`, first: 0, count: 1 }).value;
  const row = view?.rows.find(({ id }) => id === rule);
  return html`<${Dialog} sheet title=${`Rule ${rule}`} onClose=${onClose}>
    ${
      row === undefined
        ? html`<p>
            ${view === undefined || view.pending ? 'Loading …' : 'The file has no such rule.'}
          </p>`
        : html`<${Facts} row=${row} />`
    }
  <//>`;
}

const Facts = ({ row }: { readonly row: RuleRow }) => {
  const { id, place, group, matchers, target, open, warning } = row;
  return html`${
      warning !== null &&
      html`<section class="state warning" aria-label="Warning">
        <p class="state-title"><span aria-hidden="true">▲</span> Warning</p>
        <p>${escaped(warning)}</p>
      </section>`
    }
    <dl class="facts">
      <dt>Line</dt>
      <dd><${Name} text=${place} /></dd>
      ${
        group !== null &&
        html`<dt>Group</dt>
          <dd><${Name} text=${group} /></dd>`
      }
      <dt>Target</dt>
      <dd><${Target} target=${target} /></dd>
      ${matchers.map(
        ({ key, entries, more }) =>
          html`<dt>${key}</dt>
            <dd>
              <${Name} text=${entries.join(', ')} />${more > 0 && html` and ${count(more)} more`}
            </dd>`,
      )}
      ${
        matchers.length === 0 &&
        html`<dt>Matches</dt>
          <dd>everything</dd>`
      }
      <dt>Flows</dt>
      <dd>${counted(open, 'open flow')}</dd>
      <dt>Taken</dt>
      <dd>${outcomes(row)}</dd>
    </dl>
    <p class="bar">
      <a class="button" href=${connectionsLink({ rule: String(id) })}>Show its connections</a>
    </p>`;
};
