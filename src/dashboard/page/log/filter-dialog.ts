import { useEffect, useState } from 'preact/hooks';
import type { LogFilterPreview } from '../../log/view.ts';
import { CommandLine } from '../components/command-line.ts';
import { Dialog } from '../components/dialog.ts';
import { failureOf, notify, notifyFailure } from '../components/notice.ts';
import { act } from '../connection.ts';
import { escaped } from '../format.ts';
import { html } from '../html.ts';

/** A dialog that sets the log filter of the running Weir. */
export function FilterDialog({
  filter,
  onClose,
}: {
  readonly filter: string | null;
  readonly onClose: () => void;
}) {
  const [text, setText] = useState(filter ?? 'info');
  const [preview, setPreview] = useState<LogFilterPreview | undefined>(undefined);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    let isCurrent = true;
    act<LogFilterPreview>('log-filter-preview', { filter: text }).then(
      (found) => {
        if (!isCurrent) return;
        setPreview(found);
        setProblem('');
      },
      (error: unknown) => isCurrent && setProblem(failureOf(error).message),
    );
    return () => {
      isCurrent = false;
    };
  }, [text]);
  const change = async (event: Event) => {
    event.preventDefault();
    if (problem !== '') return;
    try {
      await act('log-filter', { filter: text });
      notify({ kind: 'done', text: `The log filter is ${text}, until the next start of Weir.` });
      onClose();
    } catch (error) {
      notifyFailure('The log filter was not changed', error);
    }
  };
  return html`<${Dialog} title="Log filter of Weir" onClose=${onClose}>
    <form class="filter-form" onSubmit=${change}>
      <p>
        Which lines Weir writes at all, for every reader of its log, until its next start.
        Now:${' '}
        <code>${filter === null ? 'not known' : escaped(filter)}</code>.
      </p>
      <label>
        Levels are off, error, warn, info, debug and trace; <code>target=level</code> is for a part
        <input
          autofocus
          value=${text}
          aria-invalid=${problem === '' ? undefined : 'true'}
          aria-describedby="filter-problem"
          onInput=${(event: Event) =>
            event.currentTarget instanceof HTMLInputElement && setText(event.currentTarget.value)}
        />
      </label>
      <p class="error" id="filter-problem" role="alert">${escaped(problem)}</p>
      ${preview && problem === '' && html`<${CommandLine} text=${preview.command} label="The same on the command line" />`}
      <div class="dialog-actions">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" disabled=${problem !== ''}>Change the filter</button>
      </div>
    </form>
  <//>`;
}
