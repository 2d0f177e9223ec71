import type { ConnectionDetails } from '../../connections/view.ts';
import type { RulesView } from '../../rules/view.ts';
import { useWatch } from '../connection.ts';
import { Name } from '../format.ts';
import { html } from '../html.ts';

/** The path of a flow: client → inbound → rule N, FILE:LINE → outbound@v → destination. */
export function Way({ details }: { readonly details: NonNullable<ConnectionDetails> }) {
  const { flow, routeGroup } = details;
  const steps = [
    ['client', flow.source ?? 'client'],
    ['inbound', flow.inbound],
    ['outbound', `${flow.outbound}@v${flow.version}`],
    ['destination', `${flow.host}:${flow.port}`],
  ].map(([what, text]) => html`<li><small>${what}</small> <${Name} text=${text} /></li>`);
  const rule =
    flow.rule === null
      ? html`<li><small>route</small> default route</li>`
      : html`<${RuleStep} rule=${flow.rule} group=${routeGroup} />`;
  return html`<ol class="way" aria-label="The way of this connection">
    ${steps.slice(0, 2)}${rule}${steps.slice(2)}
  </ol>`;
}

function RuleStep({ rule, group }: { readonly rule: number; readonly group: string | null }) {
  const rules = useWatch<RulesView>('rules', {
    search: `rule:${rule}`,
    first: 0,
    count: 1,
    dead: false,
  }).value;
  return html`<li>
    <small>route</small>
    <span
      >${`rule ${rule}`}${group === null ? null : html` of <${Name} text=${group} />`}${placeOf(rules, rule)}</span
    >
  </li>`;
}

/** The place of a rule, as `, nodes.toml:12`, if the file's rules are those that routed the flow. */
function placeOf(rules: RulesView | undefined, rule: number) {
  const row = rules?.rows.find(({ id }) => id === rule);
  const isSame = rules?.file.kind === 'read' && rules.file.freshness === 'loaded';
  return row && isSame ? html`, <${Name} text=${row.place} />` : null;
}
