import type { ExplainResult, PassedRow, TargetText } from '../../rules/view.ts';
import { CommandLine } from '../components/command-line.ts';
import { count, counted, escaped, Name } from '../format.ts';
import { html } from '../html.ts';
import { linkTo } from '../router.ts';

/** The result of `explain`: the decision, its place, what it depends on, and the rules that did not match. */
export function Explanation({
  result,
  onPassed,
}: {
  readonly result: ExplainResult;
  /** Called with the index of the first skipped rule to request. */
  readonly onPassed?: (first: number) => void;
}) {
  const { rule, place, group, matched, target, notes, actual, command, file } = result;
  return html`<div class="explanation">
    <p>
      ${
        rule === null
          ? 'No rule matches: the default route'
          : html`<a href=${linkTo('rules', { rule: String(rule) })}>Rule ${rule}</a>${
                group === null ? null : html` of the group <${Name} text=${group} />`
              }`
      }
      ${' '}at <code><${Name} text=${place} /></code> leads to ${' '}<strong
        ><${Target} target=${target} /></strong
      >.
    </p>
    ${matched?.length === 0 && html`<p class="dim">The rule matches everything.</p>`}
    ${
      matched !== null &&
      matched.length > 0 &&
      html`<dl class="facts">
        ${matched.map(
          ({ key, entry }) =>
            html`<dt>${key}</dt>
              <dd><${Name} text=${entry} /></dd>`,
        )}
      </dl>`
    }
    ${actual?.difference && html`<p>▲ It took <${Name} text=${actual.outbound} /> ${actual.rule === null ? 'by the default route' : `by rule ${actual.rule}`}. ${actual.difference}</p>`}
    ${
      file.kind === 'read' &&
      (file.freshness === 'changed' || file.freshness === 'refused') &&
      html`<p>▲ This is what the files say; Weir has loaded others.</p>`
    }
    ${notes.map(({ text }) => html`<p class="dim">Note: ${escaped(text)}.</p>`)}
    <${Passed} result=${result} onPassed=${onPassed} />
    <${CommandLine} text=${command} />
  </div>`;
}

/** The target of a rule: an outbound with its protocol, or a balancer with its members. */
export const Target = ({ target }: { readonly target: TargetText }) => {
  const { tag, kind, members } = target;
  return html`<${Name} text=${tag} /><span class="dim"
      >${kind === '' || kind === tag ? '' : ` (${kind}${members.length > 0 ? ': ' : ''}`}${
        members.length > 0 && html`<${Name} text=${members.join(', ')} />`
      }${kind === '' || kind === tag ? '' : ')'}</span
    >`;
};

function Passed({
  result: { passed },
  onPassed,
}: {
  readonly result: ExplainResult;
  readonly onPassed: ((first: number) => void) | undefined;
}) {
  const { total, first, rows } = passed;
  if (total === 0) return null;
  const last = first + rows.length;
  return html`<details>
    <summary>${counted(total, 'rule')} passed over</summary>
    <ol class="passed">
      ${rows.map((row) => html`<li key=${row.id}><${PassedRule} row=${row} /></li>`)}
    </ol>
    ${
      onPassed &&
      total > rows.length &&
      html`<p class="bar">
        <button
          type="button"
          disabled=${first === 0}
          onClick=${() => onPassed(Math.max(0, first - 60))}
        >
          Earlier
        </button>
        <span class="dim">${count(first + 1)}–${count(last)} of ${count(total)}</span>
        <button type="button" disabled=${last >= total} onClick=${() => onPassed(last)}>
          Later
        </button>
      </p>`
    }
  </details>`;
}

const PassedRule = ({ row }: { readonly row: PassedRow }) =>
  html`<a href=${linkTo('rules', { rule: String(row.id) })}>${row.id}</a> ${' '}<span class="dim"
      ><${Name} text=${row.place} /> → <${Name} text=${row.outbound}
    /></span>
    <br />${escaped(row.reason)}`;
