import type { MatcherText, RuleRow } from '../../rules/view.ts';
import type { Column } from '../components/grid-column.ts';
import { count, counted, Name } from '../format.ts';
import { html } from '../html.ts';
import { Target } from './explanation.ts';

export const COLUMNS: readonly Column<RuleRow>[] = [
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
export const outcomes = ({ taken, blocked, failed }: OutcomeCounts): string =>
  [
    counted(taken, 'flow'),
    ...(blocked > 0 ? [`${count(blocked)} of them blocked`] : []),
    ...(failed > 0 ? [`${count(failed)} ${blocked > 0 ? '' : 'of them '}failed`] : []),
  ].join(', ');

type OutcomeCounts = Pick<RuleRow, 'taken' | 'blocked' | 'failed'>;

const Warned = () => html`<span class="badge bad">▲ warning</span>`;

/** The matchers of a rule in one line: `domain_suffix a.example, b.example +12 and port 443`. */
export const Matchers = ({ row }: { readonly row: Pick<RuleRow, 'matchers'> }) =>
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
