import { signal } from '@preact/signals';
import type { AppliedReport } from '@weir/server/supervisor/reload-report';
import type { RefusalView, ReloadResult } from '../../config/view.ts';
import { act } from '../connection.ts';
import { Dialog } from '../components/dialog.ts';
import { notify, notifyFailure } from '../components/notice.ts';
import { Refusal } from '../components/refusal.ts';
import { counted, Name } from '../format.ts';
import { html } from '../html.ts';

type ReportWord = Exclude<keyof AppliedReport, 'status'>;

/** The meaning for connections of each term of a report. */
const MEANINGS: Readonly<Record<ReportWord, string>> = {
  built: 'Made new. New connections use it from now on; open ones keep what they have.',
  swapped: 'The inbound kept its listener and has new settings. Open connections go on.',
  drained:
    'A replaced outbound. Its open flows go on, no new one uses it, and it ends with its last flow.',
  rebound:
    'The inbound listens at another address. Open connections go on; clients need the new address.',
  restarted:
    'The listener was closed and bound again at its address. It had no connection that this could end.',
  removed: 'The inbound accepts no more clients. Open connections go on until they end.',
  reused: 'Unchanged. Nothing happened to its connections.',
};

const WORDS = Object.keys(MEANINGS) as readonly ReportWord[];
/** Maximum number of names listed for a term. */
const MAX_NAMES = 50;

type Shown =
  | { readonly kind: 'report'; readonly report: AppliedReport }
  | { readonly kind: 'refused'; readonly refusal: RefusalView };

const shown = signal<Shown | undefined>(undefined);

/** Shows the report of a reload in a dialog. */
export function showReport(report: AppliedReport): void {
  shown.value = { kind: 'report', report };
}

/** Reloads, and shows the outcome. */
export async function reload(): Promise<void> {
  try {
    const result = await act<ReloadResult>('config-reload');
    switch (result.kind) {
      case 'applied':
        showReport(result.report);
        return;
      case 'unchanged':
        notify({ kind: 'done', text: 'The files have not changed since they were loaded.' });
        return;
      case 'refused':
        shown.value = result;
        return;
      default:
        result satisfies never;
    }
  } catch (error) {
    notifyFailure('Whether it was reloaded is not known', error);
  }
}

/** The dialog of the last report or refusal. */
export function ReportDialog() {
  const { value } = shown;
  if (!value) return null;
  const close = () => {
    shown.value = undefined;
  };
  const actions = html`<div class="dialog-actions">
    <button type="button" autofocus onClick=${close}>Close</button>
  </div>`;
  return value.kind === 'refused'
    ? html`<${Dialog} title="The reload was refused" onClose=${close}>
        <p>Weir goes on with the configuration before it.</p>
        <${Refusal} refusal=${value.refusal} />
        ${actions}
      <//>`
    : html`<${Dialog} title="Reloaded" onClose=${close}>
        <${ReportTable} report=${value.report} />
        ${actions}
      <//>`;
}

const ReportTable = ({ report }: { readonly report: AppliedReport }) =>
  html`<div class="scroll" tabindex="0" role="region" aria-label="Report of the reload">
    <table class="plain words">
      <thead>
        <tr>
          <th scope="col">Word</th>
          <th scope="col">What</th>
          <th scope="col">For connections</th>
        </tr>
      </thead>
      <tbody>
        ${WORDS.filter((word) => report[word].length > 0).map(
          (word) =>
            html`<tr key=${word}>
              <th scope="row">${word}</th>
              <td>${names(report[word])}</td>
              <td>${MEANINGS[word]}</td>
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;

const names = (all: readonly string[]) =>
  html`${all
    .slice(0, MAX_NAMES)
    .map((name, at) => html`${at > 0 ? ', ' : ''}<${Name} text=${name} />`)}${
    all.length > MAX_NAMES ? ` and ${counted(all.length - MAX_NAMES, 'other')}` : ''
  }`;
