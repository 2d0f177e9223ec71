import type { ClosingPreview, CloseResult } from '../../connections/view.ts';
import { act } from '../connection.ts';
import { confirm } from '../components/dialog.ts';
import { notify, notifyFailure } from '../components/notice.ts';
import { count, counted, Name } from '../format.ts';
import { html } from '../html.ts';

/** Closes one flow after a confirmation. Resolves to whether the close was requested. */
export async function closeFlow(id: number, destination: string): Promise<boolean> {
  const answer = await confirm({
    title: 'Close this connection?',
    effect: html`<p>
      Ends the connection to <${Name} text=${destination} /> for its client. Its other connections
      stay.
    </p>`,
    command: `weir ctl close ${id}`,
    verb: 'Close it',
    danger: true,
  });
  if (!answer) return false;
  await close({ id });
  return true;
}

/** Closes the flows that match a filter, after showing their number and the command line. */
export async function closeMatching(filter: string): Promise<void> {
  let preview: ClosingPreview;
  try {
    preview = await act<ClosingPreview>('closing', { filter });
  } catch (error) {
    notifyFailure('Nothing was closed', error);
    return;
  }
  const { flows, command, isSelector } = preview;
  if (flows === 0) {
    notify({ kind: 'done', text: 'No open connection matches.' });
    return;
  }
  const answer = await confirm({
    title: `Close ${counted(flows, 'connection')}?`,
    effect: html`<p>${effectOf(flows, filter)}</p>
      <p class="dim">
        ${
          isSelector
            ? 'One request: what matches when it arrives is closed too.'
            : 'The API has no selector for this filter: each of them is closed by its id.'
        }
      </p>`,
    ...(command !== null && { command }),
    verb: `Close ${flows}`,
    danger: true,
  });
  if (answer) await close({ filter });
}

/** The effect in one sentence. Its template is on one line, since line breaks would drop the spaces. */
function effectOf(flows: number, filter: string) {
  const which = flows === 1 ? 'the open connection' : `the ${count(flows)} open connections`;
  return filter === ''
    ? `Ends ${which}.`
    : html`Ends ${which} matching <code><${Name} text=${filter} /></code>.`;
}

async function close(what: { readonly id: number } | { readonly filter: string }): Promise<void> {
  try {
    const { closed } = await act<CloseResult>('close', what);
    notify({
      kind: 'done',
      text: closed === 0 ? 'It had ended already.' : `Closed ${counted(closed, 'connection')}.`,
    });
  } catch (error) {
    notifyFailure('Not closed', error);
  }
}
