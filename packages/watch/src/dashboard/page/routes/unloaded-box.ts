import type { UndoResult, UndoView, UnloadedView } from '../../routes/view.ts';
import { commandLine } from '../../shared/texts.ts';
import { act } from '../connection.ts';
import { confirm } from '../components/dialog.ts';
import { notify, notifyFailure } from '../components/notice.ts';
import { Refusal } from '../components/refusal.ts';
import { RestoreButton } from '../components/restore.ts';
import { escaped, Name } from '../format.ts';
import { html } from '../html.ts';
import { linkTo } from '../router.ts';
import { routeName } from './pick.ts';

/** Shown when the files differ from what runs: the reason, and how to undo it. */
export const UnloadedBox = ({
  unloaded,
  readOnly,
}: {
  readonly unloaded: UnloadedView;
  readonly readOnly: boolean;
}) => {
  switch (unloaded.kind) {
    case 'pick': {
      const { group, target, refusal, undo } = unloaded;
      return html`<section class="state warning" aria-label="Written but not loaded">
        <p class="state-title"><span aria-hidden="true">▲</span> Written but not loaded</p>
        <p>
          ${
            target === null
              ? html`The file has no pick of ${escaped(routeName(group))} any more.`
              : html`The file sends ${escaped(routeName(group))} to <${Name} text=${target} />.`
          }${' '}
          The reload after that failed, so Weir goes on as before; a restart would begin with the
          file.
        </p>
        <${Refusal} refusal=${refusal} />
        <${Undo} group=${group} undo=${undo} readOnly=${readOnly} />
      </section>`;
    }
    case 'refused':
      return html`<section class="state warning" aria-label="Why the last reload was refused">
        <p class="state-title"><span aria-hidden="true">▲</span> Written but not loaded</p>
        <p>
          The last reload was refused, and Weir goes on with the configuration before it. The picks
          below are those of the file.
        </p>
        <${Refusal} refusal=${unloaded.refusal} />
        <${RestoreButton} restore=${unloaded.restore} readOnly=${readOnly} />
      </section>`;
    case 'changed':
      return html`<section class="state note" aria-label="Not loaded yet">
        <p class="state-title"><span aria-hidden="true">○</span> Not loaded yet</p>
        <p>
          ${unloaded.files.length === 0 ? 'The file has' : `${unloaded.files.map(escaped).join(', ')}:`}
          ${' '}changed since the last reload. The picks below are those of the file. A reload, or
          the next pick, loads all of it: <a href=${linkTo('config')}>Config</a>.
        </p>
      </section>`;
    default:
      return unloaded satisfies never;
  }
};

function Undo({
  group,
  undo,
  readOnly,
}: {
  readonly group: string;
  readonly undo: UndoView;
  readonly readOnly: boolean;
}) {
  switch (undo.kind) {
    case 'possible':
      return html`<button
        type="button"
        disabled=${readOnly}
        onClick=${() => void undoPick(group, undo)}
      >
        Undo: ${undo.target === null ? 'no pick again' : `back to ${escaped(undo.target)}`}…
      </button>`;
    case 'impossible':
      return html`<p class="dim">It cannot be undone from here. ${escaped(undo.reason)}</p>`;
    default:
      return undo satisfies never;
  }
}

async function undoPick(
  group: string,
  undo: UndoView & { readonly kind: 'possible' },
): Promise<void> {
  const answer = await confirm({
    title: 'Undo the pick?',
    effect: html`<p>
      ${
        undo.target === null
          ? html`${escaped(routeName(group))} has no pick again`
          : html`Writes <${Name} text=${undo.target} /> back as the pick of${' '}
              ${escaped(routeName(group))}`
      },
      if the file has not been changed since, and reloads. Nothing else in the file changes.
    </p>`,
    ...(undo.command && { command: commandLine(undo.command) }),
    verb: 'Undo',
  });
  if (!answer) return;
  try {
    const result = await act<UndoResult>('route-undo', { etag: undo.etag });
    switch (result.kind) {
      case 'done':
        notify({ kind: 'done', text: 'The pick is as it was, and loaded.' });
        return;
      case 'refused':
        notify({
          kind: 'failed',
          text: `The pick is as it was. The rest of the file is still refused: ${result.refusal.message}`,
          hints: result.refusal.hints,
        });
        return;
      case 'conflict':
        notify({ kind: 'failed', text: `Nothing was undone: ${result.message}` });
        return;
      default:
        result satisfies never;
    }
  } catch (error) {
    notifyFailure('Nothing was undone', error);
  }
}
