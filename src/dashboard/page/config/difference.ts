import { signal } from '@preact/signals';
import type { RestorePreview } from '../../config/view.ts';
import { act } from '../connection.ts';
import { Dialog } from '../components/dialog.ts';
import { notifyFailure } from '../components/notice.ts';
import { Difference } from '../components/restore.ts';
import { Name } from '../format.ts';
import { html } from '../html.ts';

const shown = signal<RestorePreview | undefined>(undefined);

/** Shows how the file differs from the version that runs. */
export async function showDifference(): Promise<void> {
  try {
    shown.value = await act<RestorePreview>('config-difference');
  } catch (error) {
    notifyFailure('The difference is not known', error);
  }
}

/** The dialog of `showDifference`. */
export function DifferenceDialog() {
  const { value } = shown;
  if (!value) return null;
  const close = () => {
    shown.value = undefined;
  };
  // The difference leads from the file to what runs; a reload goes the opposite way.
  const { difference } = value;
  const { removed, added, moreRemoved, moreAdded } = difference;
  const changes = {
    ...difference,
    removed: added,
    added: removed,
    moreRemoved: moreAdded,
    moreAdded: moreRemoved,
  };
  return html`<${Dialog} title="What runs, and the file" onClose=${close}>
    <p>
      A reload would change what runs (−) to what <${Name} text=${value.path} /> has now (+). Values
      that may be secret are starred.
    </p>
    <${Difference} difference=${changes} />
    <div class="dialog-actions">
      <button type="button" autofocus onClick=${close}>Close</button>
    </div>
  <//>`;
}
