import { useEffect, useState } from 'preact/hooks';
import type {
  ProbeParameters,
  ProbePreview,
  ProbeStarted,
  ProbingState,
} from '../../nodes/view.ts';
import { act, session } from '../connection.ts';
import { CommandLine } from '../components/command-line.ts';
import { Dialog } from '../components/dialog.ts';
import { valueOf } from '../components/fields.ts';
import { notifyFailure } from '../components/notice.ts';
import { count, counted, escaped } from '../format.ts';
import { html } from '../html.ts';

/** Starts a probe; the rows show its results. */
export async function probe(parameters: ProbeParameters): Promise<void> {
  try {
    await act<ProbeStarted>('probe', parameters);
  } catch (error) {
    notifyFailure('Nothing was probed', error);
  }
}

/** Cancels the running probe. */
export function cancelProbe(): void {
  act('probe-cancel').catch((error: unknown) => notifyFailure('It was not cancelled', error));
}

/** Progress of the running probe, with a button that cancels it. */
export const Progress = ({
  probing,
}: {
  readonly probing: Pick<ProbingState, 'isRunning' | 'done' | 'total'>;
}) =>
  probing.isRunning
    ? html`<span class="dim" role="status"
          >Probed ${count(probing.done)} of ${count(probing.total)}</span
        >
        <button type="button" onClick=${cancelProbe}>Cancel</button>`
    : null;

/** The effect of a probe with these parameters; `undefined` until it is known, and for invalid ones. */
export function usePreview(parameters: ProbeParameters): ProbePreview | undefined {
  const [preview, setPreview] = useState<ProbePreview | undefined>(undefined);
  const key = JSON.stringify(parameters);
  useEffect(() => {
    let isCurrent = true;
    act<ProbePreview>('probe-preview', parameters).then(
      (found) => isCurrent && setPreview(found),
      // The button stays disabled; a URL is invalid while it is being typed.
      () => isCurrent && setPreview(undefined),
    );
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return preview;
}

/** Asks for the URL and the number of tries before a probe of all nodes that match a search. */
export function ProbeDialog({
  search,
  probing,
  onClose,
}: {
  readonly search: string;
  readonly probing: ProbingState;
  readonly onClose: () => void;
}) {
  const [url, setUrl] = useState(probing.url);
  const [tries, setTries] = useState(String(probing.tries));
  const parameters = { search, url, tries: Number(tries) || 0 };
  const preview = usePreview(parameters);
  const readOnly = session.value?.readOnly === true;
  const all = preview?.outbounds ?? 0;
  return html`<${Dialog}
    title=${search === '' ? 'Probe all nodes' : 'Probe what matches'}
    onClose=${onClose}
  >
    <p>
      ${search !== '' && html`Nodes that match “${escaped(search)}”. `}Each gets
      ${' '}${counted(Number(tries) || 0, 'flow')} of its own, eight nodes at a time. Nothing in
      Weir changes; the traffic counts at the providers.
    </p>
    <form
      class="fields"
      onSubmit=${(event: Event) => {
        event.preventDefault();
        onClose();
        void probe(parameters);
      }}
    >
      <label class="field">
        <span>URL</span>
        <input
          type="url"
          value=${url}
          readonly=${readOnly}
          spellcheck=${false}
          onInput=${(event: Event) => setUrl(valueOf(event))}
        />
      </label>
      <label class="field">
        <span>Tries</span>
        <input
          type="number"
          min="1"
          max="20"
          value=${tries}
          onInput=${(event: Event) => setTries(valueOf(event))}
        />
      </label>
      ${
        preview?.command &&
        html`<${CommandLine} text=${preview.command} label="The same on the command line" />`
      }
      <div class="dialog-actions">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" autofocus disabled=${all === 0}>
          Probe ${count(all)}
        </button>
      </div>
    </form>
  <//>`;
}
