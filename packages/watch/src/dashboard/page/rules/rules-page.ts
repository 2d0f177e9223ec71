import { useEffect, useRef, useState } from 'preact/hooks';
import type {
  RuleRow,
  RulesView,
  ExplainParameters,
  ExplainResult,
  MatcherText,
} from '../../rules/view.ts';
import { useCommands } from '../commands.ts';
import { connectionsLink, place, setParameters } from '../router.ts';
import { FileNote } from '../components/file-note.ts';
import { Grid, type Column } from '../components/grid.ts';
import { announce } from '../components/command-line.ts';
import { Search, Choice, valueOf } from '../components/fields.ts';
import { Empty } from '../components/states.ts';
import { useWatch, act } from '../connection.ts';
import { count, counted, since, escaped, Name } from '../format.ts';
import { html } from '../html.ts';
import { Target, Explanation } from './explanation.ts';
import { Dialog } from '../components/dialog.ts';
import { failureOf } from '../components/notice.ts';

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

/** Details of one rule in a sheet at the side. */
function RuleSheet({ rule, onClose }: { readonly rule: number; readonly onClose: () => void }) {
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

const FIELDS = [
  ['from', 'Client address', '127.0.0.1'],
  ['inbound', 'Inbound', 'the first one'],
  ['sniffed', 'Name in its first bytes', 'none'],
] as const;

/**
 * A form that asks which outbound a flow would take. The question is in the address of the page, so that it can be
 * shared.
 */
function WhereSheet({ onClose }: { readonly onClose: () => void }) {
  const { to = '', from = '', inbound = '', network = '', sniffed = '' } = place.value.parameters;
  const values = { from, inbound, sniffed };
  const [result, setResult] = useState<ExplainResult | undefined>(undefined);
  const [error, setError] = useState<unknown>(undefined);
  const [isAsked, setAsked] = useState(false);
  const asked = useRef(0);
  const ask = (first = 0) => {
    const turn = ++asked.current;
    const flow: ExplainParameters = {
      to,
      first,
      ...(from !== '' && { from }),
      ...(inbound !== '' && { inbound }),
      ...(network === 'udp' && { network }),
      ...(sniffed !== '' && { sniffed }),
    };
    setAsked(true);
    act<ExplainResult>('explain', flow).then(
      (answer) => turn === asked.current && show(answer, undefined),
      (failure: unknown) => turn === asked.current && show(undefined, failure),
    );
  };
  const show = (answer: ExplainResult | undefined, failure: unknown) => {
    setResult(answer);
    setError(failure);
    setAsked(false);
  };
  // A shared address is answered immediately.
  useEffect(() => {
    if (to !== '') ask();
  }, []);
  const field = (name: string, label: string, placeholder: string, value: string) =>
    html`<label class="field">
      <span>${label}</span>
      <input
        name=${name}
        value=${value}
        placeholder=${placeholder}
        spellcheck=${false}
        autocomplete="off"
        autofocus=${name === 'to'}
        onInput=${(event: Event) => setParameters({ [name]: valueOf(event) }, { replace: true })}
      />
    </label>`;
  return html`<${Dialog} sheet title="Where would it go?" onClose=${onClose}>
    <form
      class="fields"
      onSubmit=${(event: Event) => {
        event.preventDefault();
        ask();
      }}
    >
      ${field('to', 'Destination', 'example.com:443', to)}
      ${FIELDS.map(([name, label, placeholder]) => field(name, label, placeholder, values[name]))}
      <${Choice}
        label="Network"
        value=${network === 'udp' ? 'udp' : 'tcp'}
        options=${NETWORKS}
        onChange=${(chosen: string) => setParameters({ network: chosen }, { replace: true })}
      />
      <button type="submit" class="primary" disabled=${to.trim() === ''}>Explain</button>
    </form>
    <div aria-live="polite" aria-busy=${isAsked ? 'true' : undefined}>
      ${isAsked && !result && html`<p class="dim">Reading the rules …</p>`}
      ${error === undefined ? null : failed(error)}
      ${
        result &&
        html`<p class="dim">${escaped(result.flow)}</p>
          <${Explanation} result=${result} onPassed=${ask} />`
      }
    </div>
  <//>`;
}

const NETWORKS = [
  ['tcp', 'TCP'],
  ['udp', 'UDP'],
] as const;

function failed(error: unknown) {
  const { message, hints } = failureOf(error);
  return html`<p class="error">✕ ${escaped(message)}</p>
    ${hints.map((hint) => html`<p class="hint">${escaped(hint)}</p>`)}`;
}

const COLUMNS: readonly Column<RuleRow>[] = [
  { key: 'id', title: 'Rule', width: '4rem', end: true, cell: ({ id }) => id },
  {
    key: 'matchers',
    title: 'Matches',
    width: 'minmax(14rem, 4fr)',
    card: 'title',
    cell: (row) => html`${row.warning !== null && html`<${Warned} /> `}<${Matchers} row=${row} />`,
  },
  {
    key: 'target',
    title: 'Target',
    width: 'minmax(8rem, 2fr)',
    card: 'line',
    cell: ({ target }) => html`<${Target} target=${target} />`,
  },
  {
    key: 'group',
    title: 'Group',
    width: 'minmax(4rem, 1fr)',
    extra: true,
    cell: ({ group }) => (group === null ? '–' : html`<${Name} text=${group} title />`),
  },
  {
    key: 'place',
    title: 'Line',
    width: 'minmax(7rem, 1fr)',
    card: 'aside',
    cell: ({ place }) => html`<${Name} text=${place} title />`,
  },
  {
    key: 'open',
    title: 'Open',
    width: '4.5rem',
    end: true,
    card: 'line-end',
    cell: ({ open }) => (open === 0 ? '–' : count(open)),
  },
  {
    key: 'taken',
    title: 'Taken',
    width: '5rem',
    end: true,
    cell: (row) =>
      html`<span title=${outcomes(row)}>${row.taken === 0 ? '–' : count(row.taken)}</span>`,
  },
];

/** Hits as text: `12 flows, 3 of them blocked, 1 failed`. */
const outcomes = ({ taken, blocked, failed }: OutcomeCounts): string =>
  [
    counted(taken, 'flow'),
    ...(blocked > 0 ? [`${count(blocked)} of them blocked`] : []),
    ...(failed > 0 ? [`${count(failed)} ${blocked > 0 ? '' : 'of them '}failed`] : []),
  ].join(', ');

type OutcomeCounts = Pick<RuleRow, 'taken' | 'blocked' | 'failed'>;

const Warned = () => html`<span class="badge bad">▲ warning</span>`;

/** The matchers of a rule in one line: `domain_suffix a.example, b.example +12 and port 443`. */
const Matchers = ({ row }: { readonly row: Pick<RuleRow, 'matchers'> }) =>
  row.matchers.length === 0
    ? html`everything`
    : html`${row.matchers.map(
        (matcher, at) =>
          html`${at > 0 && html`<span class="dim"> and </span>`}<${Matcher} matcher=${matcher} />`,
      )}`;

const Matcher = ({ matcher: { key, entries, more } }: { readonly matcher: MatcherText }) =>
  html`<span class="dim">${key} </span><${Name} text=${entries.join(', ')} />${
      more > 0 && html`<span class="dim"> +${count(more)}</span>`
    }`;
