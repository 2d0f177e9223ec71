import { useEffect, useState } from 'preact/hooks';
import type {
  AdditionDone,
  AdditionPreview,
  UserAddition,
  ClosingRemoval,
  RemovalDone,
  RemovalPreview,
  UserRemoval,
} from '../../users/view.ts';
import { CommandLine } from '../components/command-line.ts';
import { Dialog, confirm } from '../components/dialog.ts';
import { Choice, valueOf } from '../components/fields.ts';
import { act, ActionFailed } from '../connection.ts';
import { escaped, Failure, Name, counted } from '../format.ts';
import { html } from '../html.ts';
import { notify, notifyFailure } from '../components/notice.ts';

/** Preview of the user whose properties are being typed. */
type Preview =
  | { readonly kind: 'none' }
  | { readonly kind: 'possible'; readonly preview: AdditionPreview }
  | { readonly kind: 'refused'; readonly error: Error; readonly mayForce: boolean };

/** Asks for the name and the inbound of a new user, adds it, and shows how to create its link. */
export function AddUser({
  inbounds,
  onClose,
}: {
  readonly inbounds: readonly string[];
  readonly onClose: () => void;
}) {
  const [inbound, setInbound] = useState(inbounds[0] ?? '');
  const [name, setName] = useState('');
  const [force, setForce] = useState(false);
  const [failure, setFailure] = useState<Error | undefined>(undefined);
  const [isAdding, setAdding] = useState(false);
  const [done, setDone] = useState<{ of: UserAddition; done: AdditionDone } | undefined>(undefined);
  const wanted: UserAddition = { inbound, name, force };
  const preview = useAddition(wanted);
  if (done) return html`<${Added} name=${done.of.name} done=${done.done} onClose=${onClose} />`;
  const mayAdd = preview.kind === 'possible' && !isAdding;
  const add = async (): Promise<void> => {
    if (!mayAdd) return;
    setAdding(true);
    try {
      const { etag } = preview.preview;
      setDone({ of: wanted, done: await act<AdditionDone>('user-add', { ...wanted, etag }) });
    } catch (error) {
      setFailure(error instanceof Error ? error : new Error(String(error)));
    }
    setAdding(false);
  };
  return html`<${Dialog} title="Add a user" onClose=${onClose}>
    <form
      class="fields"
      onSubmit=${(event: Event) => {
        event.preventDefault();
        void add();
      }}
    >
      <label class="field">
        <span>Name</span>
        <input
          type="text"
          autofocus
          required
          spellcheck=${false}
          autocomplete="off"
          value=${name}
          onInput=${(event: Event) => {
            setName(valueOf(event));
            setFailure(undefined);
          }}
        />
      </label>
      <${Choice}
        label="Inbound"
        value=${inbound}
        options=${inbounds.map((tag) => [tag, escaped(tag)] as const)}
        onChange=${(tag: string) => {
          setInbound(tag);
          setForce(false);
          setFailure(undefined);
        }}
      />
      <${EffectOfAddition} preview=${preview} inbound=${inbound} />
      ${
        (force || (preview.kind === 'refused' && preview.mayForce)) &&
        html`<label class="option">
          <input type="checkbox" checked=${force} onChange=${() => setForce(!force)} />
          Add it all the same
        </label>`
      }
      ${failure && html`<p class="error" role="alert">✕ ${escaped(failure.message)}</p>`}
      <div class="dialog-actions">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" disabled=${!mayAdd}>Add</button>
      </div>
    </form>
  <//>`;
}

function EffectOfAddition({
  preview,
  inbound,
}: {
  readonly preview: Preview;
  readonly inbound: string;
}) {
  switch (preview.kind) {
    case 'none':
      return html`<p class="dim">Its secret is made by Weir, and stays in the file.</p>`;
    case 'refused':
      return html`<${Failure} text=${`${preview.error.message}.`} />`;
    case 'possible': {
      const { file, protocol, notes, command } = preview.preview;
      return html`<p>
          Adds it with a new secret to the inbound <${Name} text=${inbound} />${' '}
          (${escaped(protocol)}) in <code>${escaped(file)}</code>, and reloads. If Weir refuses
          that, the file is put back. Other users keep their connections.
        </p>
        ${notes.map((note) => html`<p>▲ ${escaped(note)}.</p>`)}
        <${CommandLine} text=${command} label="The same on the command line" />`;
    }
    default:
      return preview satisfies never;
  }
}

/** Shown after a user was added; its secret is not on this page. */
const Added = ({
  name,
  done: { reload, share },
  onClose,
}: {
  readonly name: string;
  readonly done: AdditionDone;
  readonly onClose: () => void;
}) =>
  html`<${Dialog} title=${`${escaped(name)} is added`} onClose=${onClose}>
    <p role="status">
      ${
        reload === null
          ? 'It is in the file alone: no running Weir serves it.'
          : `Reload: ${escaped(reload)}.`
      }
    </p>
    <p>
      Its secret is in the file alone. This prints its link, which has the secret; HOST is what
      clients dial:
    </p>
    <${CommandLine} text=${share} label="Command that prints the link" />
    <div class="dialog-actions">
      <button type="button" class="primary" autofocus onClick=${onClose}>Done</button>
    </div>
  <//>`;

/**
 * Previews the addition of a user whenever its properties change. A result belongs to one set of properties: until the
 * result of the current set has arrived there is none, also in the rendering before the effect.
 */
function useAddition({ inbound, name, force }: UserAddition): Preview {
  const key = JSON.stringify([inbound, name, force]);
  const [answer, setAnswer] = useState<{ of: string; preview: Preview } | undefined>(undefined);
  useEffect(() => {
    let isCurrent = true;
    const show = (preview: Preview) => isCurrent && setAnswer({ of: key, preview });
    if (name === '') return undefined;
    act<AdditionPreview>('user-add-preview', { inbound, name, force }).then(
      (preview) => show({ kind: 'possible', preview }),
      (error: unknown) => {
        if (!(error instanceof ActionFailed)) throw error;
        const mayForce = error.code === 'meaning' && error.hints.length > 0;
        show({ kind: 'refused', error, mayForce });
      },
    );
    return () => {
      isCurrent = false;
    };
  }, [key]);
  return answer?.of === key && name !== '' ? answer.preview : { kind: 'none' };
}

/** A user of the file. */
interface RemovedUserView {
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
    effect: html`<${EffectOfRemoval} user=${user} preview=${preview} />`,
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

const EffectOfRemoval = ({
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
