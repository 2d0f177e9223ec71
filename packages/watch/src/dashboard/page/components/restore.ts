import type {
  ChangedLines,
  RestorePreview,
  RestoreResult,
  RestoreView,
  LineView,
} from '../../config/view.ts';
import { act } from '../connection.ts';
import { counted, escaped, Name } from '../format.ts';
import { html } from '../html.ts';
import { confirm } from './dialog.ts';
import { notify, notifyFailure } from './notice.ts';

/** A button that writes the last version that ran back to the file, after its difference has been shown. */
export const RestoreButton = ({
  restore,
  readOnly,
}: {
  readonly restore: RestoreView;
  readonly readOnly: boolean;
}) => {
  if (restore.kind === 'needless') return null;
  if (restore.kind === 'impossible') {
    return html`<p class="dim">It cannot be undone from here: ${escaped(restore.reason)}.</p>`;
  }
  return html`<button type="button" disabled=${readOnly} onClick=${() => void restoreLoaded()}>
    Undo: restore what runs…
  </button>`;
};

/** Shows the changes to the file, and restores the last version that ran. */
async function restoreLoaded(): Promise<void> {
  try {
    const preview = await act<RestorePreview>('config-difference');
    const { path, from, to, difference } = preview;
    const answer = await confirm({
      title: 'Restore the version that runs?',
      effect: html`<p>
          This changes <${Name} text=${path} /> back to the version that was loaded last, if it is
          still as shown here, and reloads. Changes since then are lost:
        </p>
        <${Difference} difference=${difference} />`,
      verb: 'Restore and reload',
      danger: true,
    });
    if (!answer) return;
    announce(await act<RestoreResult>('config-restore', { from, to }));
  } catch (error) {
    notifyFailure('Nothing was restored', error);
  }
}

function announce(result: RestoreResult): void {
  switch (result.kind) {
    case 'applied':
    case 'unchanged':
      notify({ kind: 'done', text: 'The file is again the version that runs.' });
      return;
    case 'refused':
      notify({
        kind: 'failed',
        text: `The file is as it was, but it cannot be loaded: ${result.refusal.message}`,
        hints: result.refusal.hints,
      });
      return;
    case 'conflict':
      notify({ kind: 'failed', text: `Nothing was restored: ${result.message}` });
      return;
    default:
      result satisfies never;
  }
}

/** Removed and added lines. */
export const Difference = ({ difference }: { readonly difference: ChangedLines }) => {
  const { context, removed, added, moreRemoved, moreAdded, hidden } = difference;
  return html`<pre class="lines" tabindex="0" aria-label="Difference"><code>${context.map((line) =>
      row(' ', line),
    )}${removed.map((line) => row('−', line))}${more(moreRemoved, '−')}${added.map((line) =>
      row('+', line),
    )}${more(moreAdded, '+')}</code></pre>
    ${hidden && html`<p class="dim">They differ only in what is starred here.</p>`}`;
};

const CLASSES: Readonly<Record<string, string>> = { '−': 'removed', '+': 'added' };

const row = (mark: string, { line, text }: LineView) =>
  html`<span class=${CLASSES[mark]}
    >${`${mark} ${String(line).padStart(4)} │ ${escaped(text)}\n`}</span
  >`;

const more = (count: number, mark: string) =>
  count > 0 && html`<span class="dim">${`${mark} and ${counted(count, 'further line')}\n`}</span>`;
