import type { ClosingRemoval, RemovalDone, RemovalPreview, UserRemoval } from '../../users/view.ts';
import { confirm } from '../components/confirm.ts';
import { notify, notifyFailure } from '../components/notice.ts';
import { act, ActionFailed } from '../connection.ts';
import { counted, escaped, Name } from '../format.ts';
import { html } from '../html.ts';

/** A user of the file. */
export interface RemovedUserView {
  readonly inbound: string;
  readonly name: string;
}

/** Removes a user after showing the lines that are removed, and how many flows the user has. */
export async function removeUser(user: RemovedUserView): Promise<void> {
  const found = await previewOf(user);
  if (!found) return;
  const { preview, removal } = found;
  const answer = await confirm({
    title: `Remove ${escaped(user.name)}?`,
    effect: html`<${Effect} user=${user} preview=${preview} />`,
    option: { label: closingLabel(preview.flows) },
    command: (close) => (close ? preview.commands.close : preview.commands.remove),
    verb: 'Remove',
    danger: true,
  });
  if (!answer) return;
  const wanted: ClosingRemoval = { ...removal, close: answer.option, etag: preview.etag };
  try {
    const { reload, closed } = await act<RemovalDone>('user-remove', wanted);
    const flows = closed === null ? '' : ` Closed ${counted(closed, 'flow')}.`;
    const outcome =
      reload === null
        ? 'It is in the file alone: no running Weir serves it.'
        : `Reload: ${reload}.`;
    notify({ kind: 'done', text: `${user.name} is removed. ${outcome}${flows}` });
  } catch (error) {
    notifyFailure('Not removed', error);
  }
}

interface Previewed {
  readonly preview: RemovalPreview;
  readonly removal: UserRemoval;
}

/** Previews the removal; if it would let others log in, only after a question. */
async function previewOf({ inbound, name }: RemovedUserView): Promise<Previewed | undefined> {
  let removal: UserRemoval = { inbound, name, force: false };
  try {
    return { preview: await act<RemovalPreview>('user-remove-preview', removal), removal };
  } catch (error) {
    const opens = error instanceof ActionFailed && error.code === 'meaning';
    if (!opens || error.hints.length === 0) {
      notifyFailure('Nothing was removed', error);
      return undefined;
    }
    const answer = await confirm({
      title: 'Others could log in then',
      effect: html`<p>${escaped(error.message)}.</p>`,
      verb: 'Go on',
      danger: true,
    });
    if (!answer) return undefined;
  }
  try {
    removal = { ...removal, force: true };
    return { preview: await act<RemovalPreview>('user-remove-preview', removal), removal };
  } catch (error) {
    notifyFailure('Nothing was removed', error);
    return undefined;
  }
}

const Effect = ({
  user,
  preview: { file, line, protocol, flows, notes },
}: {
  readonly user: RemovedUserView;
  readonly preview: RemovalPreview;
}) =>
  html`<p>
      Takes the user at line ${line} of <code>${escaped(file)}</code> from the inbound${' '}
      <${Name} text=${user.inbound} /> (${escaped(protocol)}), and reloads. If Weir refuses that,
      the file is put back.
    </p>
    <p>
      ${
        flows === null
          ? 'Its flows have no label: they can be counted only after the removal.'
          : flows === 0
            ? 'It has no open flow.'
            : `Its ${counted(flows, 'open flow')} will go on unless closed.`
      }
    </p>
    ${notes.map((note) => html`<p>▲ ${escaped(note)}.</p>`)}`;

const closingLabel = (flows: number | null): string =>
  flows === null
    ? 'Close its open flows, and those of other removed users without a label'
    : `Close its open flows (${flows})`;
