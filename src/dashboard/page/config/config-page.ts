import { useState } from 'preact/hooks';
import type { CheckView, ConfigTextView, ConfigView } from '../../config/view.ts';
import { useCommands } from '../commands.ts';
import { Grid } from '../components/grid.ts';
import type { Column } from '../components/grid-column.ts';
import { placeText, Refusal } from '../components/refusal.ts';
import { RestoreButton } from '../components/restore.ts';
import { DifferenceDialog, showDifference } from './difference.ts';
import { Empty } from '../components/states.ts';
import { useWatch, watch } from '../connection.ts';
import { counted, escaped, Name, since } from '../format.ts';
import { Search } from '../components/search.ts';
import { html } from '../html.ts';
import { place } from '../router.ts';
import { Reloads } from './reloads.ts';
import { reload, ReportDialog } from './report.ts';
import { Running } from './running.ts';

type TextRow = ConfigTextView['rows'][number];

const COLUMNS: readonly Column<TextRow>[] = [
  { key: 'line', title: 'Line', width: '4rem', end: true, card: 'aside', cell: ({ id }) => id },
  {
    key: 'text',
    title: 'In force',
    width: 'minmax(12rem, 1fr)',
    card: 'title',
    cell: ({ text }) => html`<code title=${escaped(text)}>${escaped(text)}</code>`,
  },
];

export function ConfigPage() {
  const view = watch<ConfigView>('config').value;
  const canReload = view?.readOnly === false;
  useCommands(
    canReload ? [{ title: 'Reload', group: 'Config', key: 'r', run: () => void reload() }] : [],
  );
  if (!view) return html`<${Empty} title="Waiting for the configuration" />`;
  return html`${
      view.refusal &&
      view.sameness !== 'same' &&
      html`<section class="state warning" aria-label="Why the last reload was refused">
        <p class="state-title"><span aria-hidden="true">▲</span> Why it was refused</p>
        <p>Weir goes on with the configuration before it.</p>
        <${Refusal} refusal=${view.refusal} />
        <${RestoreButton} restore=${view.restore} readOnly=${view.readOnly} />
      </section>`
    }
    <div class="cards">
      <section class="card" aria-labelledby="file-head">
        <h2 id="file-head">File</h2>
        <${FileFacts} view=${view} />
        <div class="bar">
          <button
            type="button"
            class="primary"
            disabled=${!canReload}
            onClick=${() => void reload()}
          >
            Reload
          </button>
          ${
            view.sameness === 'changed' &&
            view.restore.kind === 'possible' &&
            html`<button type="button" onClick=${() => void showDifference()}>Difference…</button>`
          }
        </div>
      </section>
      <section class="card" aria-labelledby="running-head">
        <h2 id="running-head">Running</h2>
        <${Running} running=${view.running} />
      </section>
    </div>
    <section class="card" aria-labelledby="check-head">
      <h2 id="check-head">Check of the files on disk</h2>
      <${Check} check=${view.check} view=${view} />
    </section>
    <section class="card" aria-labelledby="reloads-head">
      <h2 id="reloads-head">Reloads</h2>
      <${Reloads} reloads=${view.reloads} />
    </section>
    ${view.check?.kind === 'valid' && html`<${EffectiveText} />`}
    <${ReportDialog} /><${DifferenceDialog} />`;
}

const FileFacts = ({ view }: { readonly view: ConfigView }) =>
  html`<dl class="facts">
    <dt>Path</dt>
    <dd>
      ${
        view.path === null
          ? view.builtIn
            ? 'built-in configuration: there is no file'
            : 'not known here'
          : html`<${Name} text=${view.path} />`
      }
    </dd>
    ${
      view.changedAt !== null &&
      html`<dt>Written</dt>
        <dd>${since(view.changedAt)} ago</dd>`
    }
    ${
      view.unreadable !== null &&
      html`<dt>Reading</dt>
        <dd class="error">✕ ${escaped(view.unreadable)}</dd>`
    }
    <dt>Loaded</dt>
    <dd>${samenessText(view)}</dd>
  </dl>`;

function samenessText({ sameness, changedFiles }: ConfigView): string {
  switch (sameness) {
    case 'same':
      return '✓ what is on disk is what runs';
    case 'changed':
      return `▲ what is on disk is not what runs${changedFiles.length > 0 ? `: ${changedFiles.map(escaped).join(', ')} changed` : ''}`;
    case 'unknown':
      return '? whether it is what runs is not known without the control socket, until the next reload from here';
    default:
      return sameness satisfies never;
  }
}

function Check({ check, view }: { readonly check: CheckView | null; readonly view: ConfigView }) {
  if (check === null) {
    const why =
      view.path === null || view.unreadable !== null
        ? 'The files cannot be read here, so they are not checked.'
        : 'The files are being checked.';
    return html`<p class="dim">${why}</p>`;
  }
  if (check.kind === 'invalid') {
    // The last reload was refused for the same error, which is shown above.
    if (view.sameness !== 'same' && view.refusal?.message.includes(check.refusal.message) === true)
      return html`<p class="error">✕ A reload would be refused again.</p>`;
    return html`<p class="error">✕ A reload would be refused.</p>
      <${Refusal} refusal=${check.refusal} />`;
  }
  if (check.warnings.length === 0) return html`<p>✓ Valid, without warnings.</p>`;
  return html`<p>✓ Valid, with ${counted(check.warnings.length, 'warning')}:</p>
    <ul class="warnings">
      ${check.warnings.map(
        (warning) =>
          html`<li>
            ${`▲ ${escaped(warning.message)}`}${
              warning.place && html` <code>${placeText(warning.place)}</code>`
            }
          </li>`,
      )}
    </ul>`;
}

/** The effective configuration; only the visible lines are fetched. */
function EffectiveText() {
  const find = place.value.parameters['find'] ?? '';
  const [shown, setShown] = useState({ first: 0, count: 40 });
  const text = useWatch<ConfigTextView>('config-text', { find, ...shown }).value;
  return html`<section class="text" aria-labelledby="text-head">
    <div class="bar">
      <h2 id="text-head">In force with these files</h2>
      <${Search}
        label="Search what is in force"
        placeholder="Search; secrets are starred"
        parameter="find"
        value=${find}
      />
    </div>
    <${Grid}
      label="Effective configuration"
      columns=${COLUMNS}
      window=${{ first: text?.first ?? 0, total: text?.total ?? 0, rows: text?.rows ?? [] }}
      id=${({ id }: TextRow) => id}
      onWindow=${(first: number, wanted: number) => setShown({ first, count: wanted })}
      empty=${html`<${Empty} title=${text ? 'No line has this' : 'Waiting for the text'} />`}
    />
  </section>`;
}
