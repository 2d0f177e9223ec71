import type { BalancersView, DownMember, FailingRow, FailingView } from '../../now/view.ts';
import type { LogStateView } from '../../log/view.ts';
import { connectionsLink, linkTo } from '../router.ts';
import { count, counted, escaped, Name, since, timeOfDay } from '../format.ts';
import { html } from '../html.ts';

/** Current failures: of outbounds, and of members of balancers. */
export function Failing({
  failing,
  balancers,
}: {
  readonly failing: FailingView;
  readonly balancers: BalancersView;
}) {
  const { rows, others, lostLines } = failing;
  const nothing = rows.length === 0 && others === 0 && balancers.down.length === 0;
  return html`<section class="card failing" aria-labelledby="failing">
    <h2 id="failing">Failing now</h2>
    ${
      nothing &&
      html`<p>
        ${
          knows(failing)
            ? '✓ No flow has failed in the last two minutes.'
            : 'No failure is known, which does not mean that there is none.'
        }
      </p>`
    }
    <ul>
      ${rows.map((row) => html`<${FailingOutbound} key=${row.id} row=${row} />`)}
    </ul>
    ${others > 0 && html`<p>${counted(others, 'more flow')} failed, of which the log has only the number.</p>`}
    ${
      balancers.down.length > 0 &&
      html`<h3>Members of balancers that are down</h3>
        <ul>
          ${balancers.down.map((member) => html`<${Down} key=${member.id} member=${member} />`)}
        </ul>`
    }
    ${balancers.more > 0 && html`<p>${count(balancers.more)} more are down.</p>`}
    <p class="dim">
      ${sourceOf(failing)}
      ${lostLines > 0 && ` ${counted(lostLines, 'log line')} were lost: counts may be low.`}
      ${
        balancers.members === null
          ? ' The health of balancers is not known: the control socket does not answer.'
          : balancers.members > 0 &&
            ` Balancer members that are not down: ${count(balancers.members - balancers.down.length - balancers.more)} of ${count(balancers.members)}.`
      }
    </p>
  </section>`;
}

const knows = ({ log, hiddenBy }: FailingView): boolean =>
  log.kind === 'following' && hiddenBy === null;

function FailingOutbound({ row }: { readonly row: FailingRow }) {
  const { id, cause, to, rule, opened } = row;
  return html`<li>
    <p>
      <strong><span aria-hidden="true">✕</span> <${Name} text=${id} /></strong>${' '}
      <span
        >${count(row.count)} failed in ${since(row.since)}, the last ${since(row.last)} ago</span
      >
    </p>
    <p class="error">${escaped(cause)}</p>
    <p class="dim">
      ${to !== null && html`to <${Name} text=${to} />, `}by${' '}
      ${
        rule === null
          ? 'the default route'
          : html`<a href=${linkTo('rules', { rule: String(rule) })}>rule ${rule}</a>`
      }.
      ${
        opened > 0 &&
        html` Since then${' '}
          <a href=${connectionsLink({ out: id })}>${counted(opened, 'flow')}</a> opened by it: not
          everything fails.`
      }
    </p>
  </li>`;
}

const Down = ({ member }: { readonly member: DownMember }) =>
  html`<li>
    <p>
      <strong><span aria-hidden="true">✕</span> <${Name} text=${member.outbound} /></strong
      >${' '}of${' '}
      <${Name} text=${member.balancer} />
      ${member.probedAt !== null && html`, probed at ${timeOfDay(member.probedAt)}`}
    </p>
    ${member.error !== null && html`<p class="error">${escaped(member.error)}</p>`}
  </li>`;

/** The source of the failures, or why there are none. */
function sourceOf({ log, hiddenBy }: FailingView) {
  if (hiddenBy !== null && log.kind === 'following') {
    return html`The log has no failures, because its filter is <code>${escaped(hiddenBy)}</code>:
      they are at info. <a href=${linkTo('log')}>Change the filter</a>.`;
  }
  return logText(log);
}

/** The state of following the log, in a sentence. */
export function logText(log: LogStateView): string {
  switch (log.kind) {
    case 'absent':
      return 'Failures come from the log, which needs the control socket: weir dashboard --socket PATH.';
    case 'idle':
    case 'connecting':
      return 'The log is being requested.';
    case 'following':
      return `The log has been followed for ${since(log.since)}.`;
    case 'lost':
      return `The log cannot be followed since ${since(log.since)}: ${escaped(log.error)}. It is tried again.`;
    default:
      return log satisfies never;
  }
}
