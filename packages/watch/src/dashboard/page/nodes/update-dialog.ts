import { useEffect, useState } from 'preact/hooks';
import type {
  ListedNames,
  SourceReport,
  UpdateParameters,
  UpdateReport,
} from '../../nodes/view.ts';
import { act, session } from '../connection.ts';
import { CommandLine } from '../components/command-line.ts';
import { Dialog } from '../components/dialog.ts';
import { failureOf } from '../components/notice.ts';
import { count, escaped, Name } from '../format.ts';
import { html } from '../html.ts';

type Step =
  | { readonly kind: 'comparing' | 'updating' }
  | { readonly kind: 'compared' | 'updated'; readonly report: UpdateReport }
  | { readonly kind: 'failed'; readonly error: unknown };

/** Fetches a subscription, or all, shows the difference, and applies it after a confirmation. */
export function UpdateDialog({
  name,
  onClose,
}: {
  /** Name of the subscription; '' for all. */
  readonly name: string;
  readonly onClose: () => void;
}) {
  const [step, setStep] = useState<Step>({ kind: 'comparing' });
  const [force, setForce] = useState(false);
  const run = (update: boolean, forced: boolean) => {
    setForce(forced);
    setStep({ kind: update ? 'updating' : 'comparing' });
    const parameters: UpdateParameters = { force: forced, ...(name !== '' && { name }) };
    act<UpdateReport>(update ? 'subscription-update' : 'subscription-compare', parameters).then(
      (report) => setStep({ kind: update ? 'updated' : 'compared', report }),
      (error: unknown) => setStep({ kind: 'failed', error }),
    );
  };
  useEffect(() => run(false, false), []);
  const title = name === '' ? 'Update all subscriptions' : html`Update <${Name} text=${name} />`;
  return html`<${Dialog} title=${title} onClose=${onClose}>
    <div aria-live="polite">${bodyOf(step)}</div>
    <${Buttons} step=${step} force=${force} run=${run} onClose=${onClose} />
  <//>`;
}

function Buttons({
  step,
  force,
  run,
  onClose,
}: {
  readonly step: Step;
  readonly force: boolean;
  readonly run: (update: boolean, force: boolean) => void;
  readonly onClose: () => void;
}) {
  const readOnly = session.value?.readOnly === true;
  const report = step.kind === 'compared' ? step.report : undefined;
  const isRefused = report?.sources.some(({ kind }) => kind === 'refused') === true;
  const isAny = report?.sources.some(({ kind }) => kind !== 'refused') === true;
  return html`<div class="dialog-actions">
    ${
      isRefused &&
      !force &&
      html`<button type="button" onClick=${() => run(false, true)}>Compare with --force</button>`
    }
    <button type="button" onClick=${onClose}>${report ? 'Cancel' : 'Close'}</button>
    ${
      report &&
      html`<button
        type="button"
        class="primary"
        disabled=${!isAny || readOnly}
        onClick=${() => run(true, force)}
      >
        ${readOnly ? 'Read-only' : 'Apply'}
      </button>`
    }
  </div>`;
}

function bodyOf(step: Step) {
  switch (step.kind) {
    case 'comparing':
      return html`<p class="dim">Fetching, to compare. Nothing is changed yet …</p>`;
    case 'updating':
      return html`<p class="dim">Writing the nodes and reloading Weir …</p>`;
    case 'failed': {
      const { message, hints } = failureOf(step.error);
      return html`<p class="error">✕ ${escaped(message)}</p>
        ${hints.map((hint) => html`<p class="hint">${escaped(hint)}</p>`)}`;
    }
    case 'compared':
      return html`<${Report} report=${step.report} />
        <${CommandLine} text=${step.report.command} label="The same on the command line" />`;
    case 'updated':
      return html`<${Report} report=${step.report} />
        ${
          step.report.fetchedAgain.length > 0 &&
          html`<p class="dim">
            Fetched again, since what was shown was too old:
            ${' '}${step.report.fetchedAgain.map(escaped).join(', ')}.
          </p>`
        }
        <p>
          ${
            step.report.applied === ''
              ? step.report.sources.every(({ error }) => error === null) &&
                'Nothing had to be written.'
              : html`✓ ${step.report.applied.split('\n').map(escaped).join(' ')}`
          }
        </p>`;
    default:
      return step satisfies never;
  }
}

const Report = ({ report }: { readonly report: UpdateReport }) =>
  html`${report.sources.map((source) => html`<${SourceDifference} key=${source.id} source=${source} />`)}`;

function SourceDifference({ source }: { readonly source: SourceReport }) {
  const { id, kind, line, added, removed, changed, kept, error } = source;
  const { balancers, notes, information, leftOut } = source;
  return html`<section class="difference" aria-label=${escaped(id)}>
    <p>
      <strong><${Name} text=${id} /></strong>
      ${' '}${kind === 'refused' ? '✕ refused, its nodes stay as they are' : html`<code>${line}</code>`}
      ${kind === 'unchanged' && html`<span class="dim"> the provider says that nothing has changed</span>`}
    </p>
    ${
      error !== null &&
      html`<p class="error">${escaped(error.message)}</p>
        ${error.hints.map((hint) => html`<p class="hint">${escaped(hint)}</p>`)}`
    }
    <${Names} mark="+" title="New" list=${added} />
    <${Names} mark="−" title="Gone" list=${removed} />
    <${Names} mark="~" title="Changed" list=${changed} />
    <${Names} mark="=" title="Gone, and kept because they are in use" list=${kept} />
    ${balancers.map((each) => html`<p><code>${escaped(each)}</code></p>`)}
    ${notes.map((note) => html`<p class="hint">${escaped(note)}</p>`)}
    ${
      information.length > 0 &&
      html`<p class="dim">Messages: ${information.map(escaped).join(' · ')}</p>`
    }
    ${
      leftOut.length > 0 &&
      html`<details>
        <summary>${count(leftOut.length)} left out</summary>
        <ul>
          ${leftOut.map(({ name, reason }) => html`<li><${Name} text=${name} />: ${escaped(reason)}</li>`)}
        </ul>
      </details>`
    }
  </section>`;
}

const Names = ({
  mark,
  title,
  list: { names, more },
}: {
  readonly mark: string;
  readonly title: string;
  readonly list: ListedNames;
}) =>
  names.length === 0
    ? null
    : html`<details open=${names.length <= 12}>
        <summary>${mark}${count(names.length + more)} ${title}</summary>
        <ul class="names">
          ${names.map((name) => html`<li><${Name} text=${name} /></li>`)}
          ${more > 0 && html`<li class="dim">and ${count(more)} more</li>`}
        </ul>
      </details>`;
