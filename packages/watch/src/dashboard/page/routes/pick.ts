import { signal } from '@preact/signals';
import { commandLine } from '../../shared/texts.ts';
import type { ConflictView, PickPreview, RoutePickResult } from '../../routes/view.ts';
import { act } from '../connection.ts';
import { confirm } from '../components/dialog.ts';
import { notify, notifyFailure } from '../components/notice.ts';
import { counted, escaped, Name } from '../format.ts';
import { html } from '../html.ts';
import type { RefusalView } from '../../config/view.ts';

/** A failed pick, which a dialog explains. */
export type FailedPick =
  | ConflictView
  | {
      readonly kind: 'refused';
      readonly group: string;
      readonly target: string | null;
      readonly refusal: RefusalView;
    };

/** The failed pick that the dialog shows. */
export const failedPick = signal<FailedPick | undefined>(undefined);

/** A route as text: `the default route`, or `“Video”`. */
export const routeName = (group: string): string =>
  group === 'default' ? 'the default route' : `“${escaped(group)}”`;

/** Parameters of a pick: the new target of a route, or that it inherits again for `null`. */
const wantedOf = (group: string, target: string | null) =>
  target === null ? { group, inherit: true } : { group, target };

/** The result as text: `The pick of “Video” is removed.`, or where new flows go. */
const doneText = (group: string, target: string | null): string =>
  target === null
    ? `The pick of ${routeName(group)} is removed.`
    : `New flows of ${routeName(group)} go to ${target}.`;

/** Previews a pick or its removal, and applies it after a confirmation. @param target `null` to remove the pick */
export async function pickWithPreview(group: string, target: string | null): Promise<void> {
  try {
    const preview = await act<PickPreview>('route-preview', wantedOf(group, target));
    const { open, etag, command } = preview;
    const close = open === null ? 0 : open;
    const answer = await confirm({
      title:
        target === null
          ? `Remove the pick of ${routeName(group)}?`
          : `Send new flows of ${routeName(group)} to ${escaped(target)}?`,
      effect: html`<${Effect} preview=${preview} />`,
      ...(command && {
        command: (option: boolean) => commandLine(option ? [...command, '--close'] : command),
      }),
      verb: target === null ? 'Remove the pick' : 'Pick',
      ...(close > 0 && {
        option: {
          label: `Close ${open === 1 ? 'it' : `these ${close}`}, so that programs connect again`,
        },
      }),
    });
    if (answer) await pick({ group, target, etag, close: answer.option });
  } catch (error) {
    notifyFailure('The pick was not confirmed', error);
  }
}

/** Applies a pick if the file is still the version `etag`. */
export async function pick(wanted: {
  readonly group: string;
  readonly target: string | null;
  readonly etag: string;
  readonly close: boolean;
}): Promise<void> {
  const { group, target, etag, close } = wanted;
  const result = await act<RoutePickResult>('route-pick', {
    ...wantedOf(group, target),
    etag,
    close,
  });
  switch (result.kind) {
    case 'done': {
      const closed = result.closed === null ? '' : ` ${counted(result.closed, 'flow')} closed.`;
      notify({ kind: 'done', text: `${doneText(group, target)}${closed}` });
      if (result.unclosed !== null) {
        notify({ kind: 'failed', text: `The open flows were not closed: ${result.unclosed}` });
      }
      return;
    }
    case 'conflict':
      failedPick.value = result;
      return;
    case 'refused':
      failedPick.value = { kind: 'refused', group, target, refusal: result.refusal };
      return;
    case 'written':
      notify({
        kind: 'failed',
        text: 'The change is in the file, but it could not be loaded.',
        hints: ['The page shows why, and how to undo it.'],
      });
      return;
    default:
      result satisfies never;
  }
}

/** The effect of a pick, in sentences. */
const Effect = ({ preview }: { readonly preview: PickPreview }) => {
  const { from, to, open, uncounted, followers, moreFollowers, others, line } = preview;
  return html`<p>
      New flows → <strong>${to === null ? 'no target' : html`<${Name} text=${to} />`}</strong>${
        from === to
          ? ', where they go already.'
          : html`; they go to ${from === null ? 'no target' : html`<${Name} text=${from} />`} now.`
      }
    </p>
    ${
      line === null
        ? null
        : html`<p>
            Line ${line} of the file, which has the pick, is taken out. The API cannot do that, so
            there is no command line for it.
          </p>`
    }
    ${
      open !== null && open > 0 && from !== null
        ? html`<p>
            ${counted(open, 'open flow')} of ${routeName(preview.group)}${' '}
            ${open === 1 ? 'stays' : 'stay'} on <${Name} text=${from} />.
          </p>`
        : null
    }
    ${open === 0 && from !== to ? html`<p>No open flow of ${routeName(preview.group)} is left on the old target.</p>` : null}
    ${uncounted !== null && html`<p class="dim">How many flows stay open is not known: ${escaped(uncounted)}.</p>`}
    ${
      followers.length > 0 &&
      html`<p>
        ${
          followers.length + moreFollowers === 1
            ? '1 group inherits from it and changes too:'
            : `${counted(followers.length + moreFollowers, 'group')} inherit from it and change too:`
        }
        ${' '}${followers.map(escaped).join(', ')}${moreFollowers > 0 ? ', …' : ''}. Their open
        flows stay.
      </p>`
    }
    ${
      others.length > 0 &&
      html`<p>
        <strong>▲ Other changes are loaded with it:</strong> ${others.map(escaped).join(', ')}${' '}
        changed since the last reload.
      </p>`
    }`;
};
