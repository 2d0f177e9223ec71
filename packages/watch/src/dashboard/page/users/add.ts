import { useEffect, useState } from 'preact/hooks';
import type { AdditionDone, AdditionPreview, UserAddition } from '../../users/view.ts';
import { CommandLine } from '../components/command-line.ts';
import { Dialog } from '../components/dialog.ts';
import { Choice, valueOf } from '../components/fields.ts';
import { act, ActionFailed } from '../connection.ts';
import { escaped, Failure, Name } from '../format.ts';
import { html } from '../html.ts';

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
      <${Effect} preview=${preview} inbound=${inbound} />
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

function Effect({ preview, inbound }: { readonly preview: Preview; readonly inbound: string }) {
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
