import type { ConflictSide, ConflictView } from '../../routes/view.ts';
import { Dialog } from '../components/dialog.ts';
import { notify, notifyFailure } from '../components/notice.ts';
import { Refusal } from '../components/refusal.ts';
import { escaped, Name } from '../format.ts';
import { html } from '../html.ts';
import { failedPick, pick, routeName } from './pick.ts';

const close = (): void => {
  failedPick.value = undefined;
};

/** Explains why a pick failed: another writer, or a configuration that would be invalid. */
export function FailedPickDialog() {
  const failed = failedPick.value;
  if (!failed) return null;
  if (failed.kind === 'conflict') return html`<${Conflict} conflict=${failed} />`;
  const { group, target, refusal } = failed;
  return html`<${Dialog} title="The pick was refused" onClose=${close}>
    <p>
      ${
        target === null
          ? html`The pick of ${escaped(routeName(group))} was not removed`
          : html`${escaped(routeName(group))} was not sent to <${Name} text=${target} />`
      }:
      the configuration would be invalid. The file is as it was.
    </p>
    <${Refusal} refusal=${refusal} />
    <div class="dialog-actions">
      <button type="button" autofocus onClick=${close}>Close</button>
    </div>
  <//>`;
}

function Conflict({ conflict }: { readonly conflict: ConflictView }) {
  const { group, target, etag, seen, theirs, others, moreOthers, possible } = conflict;
  const takeTheirs = () => {
    close();
    notify({
      kind: 'done',
      text: 'Nothing was changed: the file stays as the other writer left it.',
    });
  };
  const applyMine = async () => {
    close();
    try {
      await pick({ group, target, etag, close: false });
    } catch (error) {
      notifyFailure('The pick was not confirmed', error);
    }
  };
  return html`<${Dialog} title="The file has been changed meanwhile" onClose=${close}>
    <p>Another writer came first, so your pick was not made. Nothing has been lost.</p>
    <div class="scroll" tabindex="0" role="region" aria-label="Both versions">
      <table class="plain">
        <thead>
          <tr>
            <th scope="col">Route</th>
            <th scope="col">You saw</th>
            <th scope="col">The file now</th>
            <th scope="col">You want</th>
          </tr>
        </thead>
        <tbody>
          <tr>
            <th scope="row">${escaped(routeName(group))}</th>
            <td>${side(seen)}</td>
            <td>${side(theirs)}</td>
            <td>
              <strong>${target === null ? 'no pick' : html`<${Name} text=${target} />`}</strong>
            </td>
          </tr>
          ${others.map(
            (other) =>
              html`<tr key=${other.name}>
                <th scope="row">${escaped(routeName(other.name))}</th>
                <td>${side(other.seen)}</td>
                <td>${side(other.theirs)}</td>
                <td class="dim">as the file now</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${moreOthers > 0 && html`<p class="dim">${moreOthers} further routes have changed.</p>`}
    ${
      others.length === 0 && seen?.pick === theirs?.pick
        ? html`<p class="dim">
            The routes are as you saw them: something else in the file changed.
          </p>`
        : null
    }
    ${!possible && html`<p class="error">The route or the target is not there any more.</p>`}
    <div class="dialog-actions">
      <button type="button" autofocus onClick=${takeTheirs}>Take theirs</button>
      <button type="button" class="primary" disabled=${!possible} onClick=${() => void applyMine()}>
        Apply mine on top
      </button>
    </div>
  <//>`;
}

const side = (route: ConflictSide | null) =>
  route === null
    ? html`<span class="dim">not there</span>`
    : route.pick === null
      ? html`<span class="dim">no pick</span> →${' '}
          ${route.target === null ? 'nothing' : html`<${Name} text=${route.target} />`}`
      : html`<${Name} text=${route.pick} />`;
