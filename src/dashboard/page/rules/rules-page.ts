import { useEffect, useRef, useState } from 'preact/hooks';
import type { RuleRow, RulesView } from '../../rules/view.ts';
import { useCommands } from '../commands.ts';
import { connectionsLink } from '../connections-link.ts';
import { FileNote } from '../components/file-note.ts';
import { Grid } from '../components/grid.ts';
import { announce } from '../components/live-region.ts';
import { Search } from '../components/search.ts';
import { Empty } from '../components/states.ts';
import { useWatch } from '../connection.ts';
import { count, counted, since } from '../format.ts';
import { html } from '../html.ts';
import { place, setParameters } from '../router.ts';
import { COLUMNS, outcomes } from './columns.ts';
import { Target } from './explanation.ts';
import { RuleSheet } from './rule-sheet.ts';
import { WhereSheet } from './where-sheet.ts';

/** The page Rules. Its state is in the address: search, and the rule or the question that is open. */
export function RulesPage() {
  const { search = '', dead = '', rule, where } = place.value.parameters;
  const [window, setWindow] = useState({ first: 0, count: 40 });
  const onlyDead = dead === 'yes';
  const view = useWatch<RulesView>('rules', { search, dead: onlyDead, ...window }).value;
  const ask = () => setParameters({ where: 'yes' });
  useCommands([{ title: 'Where would … go?', group: 'Rules', key: 'w', run: ask }]);
  useAnnounced(view, search);
  const close = () => {
    setParameters({ rule: '', where: '', to: '', from: '', inbound: '', network: '', sniffed: '' });
  };
  return html`${view && html`<${FileNote} file=${view.file} />`}
    <div class="bar">
      <${Search}
        label="Search rules"
        placeholder="Search: a domain, an address, a target, weir.toml:12"
        value=${search}
      />
      <button
        type="button"
        aria-pressed=${onlyDead ? 'true' : 'false'}
        onClick=${() => setParameters({ dead: onlyDead ? '' : 'yes' })}
      >
        ▲ ${counted(view?.dead ?? 0, 'warning')}
      </button>
      <button type="button" onClick=${ask}>Where would … go?</button>
    </div>
    ${view && html`<${Summary} view=${view} />`}
    <${Grid}
      label="Rules"
      columns=${COLUMNS}
      window=${{ first: view?.first ?? 0, total: view?.matching ?? 0, rows: view?.rows ?? [] }}
      id=${({ id }: RuleRow) => id}
      onWindow=${(first: number, wanted: number) => setWindow({ first, count: wanted })}
      onOpen=${({ id }: RuleRow) => setParameters({ rule: String(id) })}
      rowClass=${({ warning }: RuleRow) => (warning === null ? '' : 'warned')}
      empty=${html`<${NoRules} view=${view} filtered=${search !== '' || onlyDead} />`}
    />
    ${rule !== undefined && html`<${RuleSheet} rule=${Number(rule)} onClose=${close} />`}
    ${rule === undefined && where !== undefined && html`<${WhereSheet} onClose=${close} />`}`;
}

/** Summary: the number of matching rules, the default target, and how complete the hit counts are. */
function Summary({ view }: { readonly view: RulesView }) {
  const { total, matching, fallback, hits, pending } = view;
  return html`<p class="list-state">
    <span aria-busy=${pending ? 'true' : undefined}
      >${matching === total ? counted(total, 'rule') : `${count(matching)} of ${counted(total, 'rule')}`}${
        fallback &&
        html` · otherwise → <${Target} target=${fallback.target} />${' '}
          <a href=${connectionsLink({ rule: 'default' })}
            >${counted(fallback.open, 'open flow')}</a
          >`
      }</span
    >
    ${hits.since > 0 && html`<span>${takenText(hits)}</span>`}
  </p>`;
}

/** The number of flows that rules have taken as text, and how complete it is where Weir does not count. */
function takenText(hits: RulesView['hits']): string {
  const { by, counted: taken, missed, certain } = hits;
  const text = `Taken in ${since(hits.since)}: ${outcomes({ ...hits, taken })}`;
  if (by === 'weir') return text;
  const unseen = missed === 0 ? '' : `; ${count(missed)} more came and went unseen`;
  const rules = certain ? '' : ', and rules may have changed since';
  return `${text}${unseen}. Blocked and failed flows are not counted without the control socket${rules}`;
}

const NoRules = ({
  view,
  filtered,
}: {
  readonly view: RulesView | undefined;
  readonly filtered: boolean;
}) => {
  if (view === undefined || view.file.kind === 'reading') return 'Loading …';
  if (view.file.kind !== 'read') return html`<${Empty} title="No rules to show" />`;
  return filtered
    ? html`<${Empty} title="No rule matches the search">
        <button type="button" onClick=${() => setParameters({ search: '', dead: '' })}>
          Show all rules
        </button>
      <//>`
    : html`<${Empty} title="The configuration has no rules">
        <p>Every flow takes the default route.</p>
      <//>`;
};

/** Announces the number of matching rules to screen readers after the search has changed. */
function useAnnounced(view: RulesView | undefined, search: string): void {
  const last = useRef(search);
  useEffect(() => {
    if (!view || view.pending || last.current === search) return;
    last.current = search;
    announce(`${counted(view.matching, 'rule')} of ${count(view.total)} match`);
  }, [search, view?.pending, view?.matching]);
}
