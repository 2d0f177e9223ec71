import { useState } from 'preact/hooks';
import type {
  CheckView,
  ConfigTextView,
  ConfigView,
  RestorePreview,
  SeenReload,
  RunningView,
} from '../../config/view.ts';
import { useCommands } from '../commands.ts';
import { PlainTable } from '../components/plain-table.ts';
import { Grid, type Column } from '../components/grid.ts';
import { placeText, Refusal } from '../components/refusal.ts';
import { RestoreButton, Difference } from '../components/restore.ts';
import { Empty } from '../components/states.ts';
import { useWatch, watch, act } from '../connection.ts';
import {
  counted,
  escaped,
  Name,
  since,
  timeOfDay,
  bytes,
  count,
  isNearlyFull,
  milliseconds,
} from '../format.ts';
import { Search } from '../components/fields.ts';
import { html } from '../html.ts';
import { place } from '../router.ts';
import { reload, ReportDialog, showReport } from './report.ts';
import { signal } from '@preact/signals';
import { Dialog } from '../components/dialog.ts';
import { notifyFailure } from '../components/notice.ts';

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

const shown = signal<RestorePreview | undefined>(undefined);

/** Shows how the file differs from the version that runs. */
async function showDifference(): Promise<void> {
  try {
    shown.value = await act<RestorePreview>('config-difference');
  } catch (error) {
    notifyFailure('The difference is not known', error);
  }
}

/** The dialog of `showDifference`. */
function DifferenceDialog() {
  const { value } = shown;
  if (!value) return null;
  const close = () => {
    shown.value = undefined;
  };
  // The difference leads from the file to what runs; a reload goes the opposite way.
  const { difference } = value;
  const { removed, added, moreRemoved, moreAdded } = difference;
  const changes = {
    ...difference,
    removed: added,
    added: removed,
    moreRemoved: moreAdded,
    moreAdded: moreRemoved,
  };
  return html`<${Dialog} title="What runs, and the file" onClose=${close}>
    <p>
      A reload would change what runs (−) to what <${Name} text=${value.path} /> has now (+). Values
      that may be secret are starred.
    </p>
    <${Difference} difference=${changes} />
    <div class="dialog-actions">
      <button type="button" autofocus onClick=${close}>Close</button>
    </div>
  <//>`;
}

const OUTCOMES: Readonly<Record<SeenReload['outcome'], string>> = {
  applied: '✓ applied',
  unchanged: '○ unchanged',
  failed: '✕ refused',
};

/** The reloads that the dashboard has seen, the newest first. */
const Reloads = ({ reloads }: { readonly reloads: readonly SeenReload[] }) =>
  reloads.length === 0
    ? html`<p class="dim">None has been seen since the dashboard began.</p>`
    : html`<div class="scroll" tabindex="0" role="region" aria-label="Table of reloads">
        <table class="plain reloads">
          <thead>
            <tr>
              <th scope="col">When</th>
              <th scope="col">By</th>
              <th scope="col">Outcome</th>
              <th scope="col">What</th>
            </tr>
          </thead>
          <tbody>
            ${reloads.map(
              ({ id, at, by, outcome, text, report }) =>
                html`<tr key=${id}>
                  <td>${timeOfDay(at)}, ${since(at)} ago</td>
                  <td>${by === null ? html`<span class="dim">others</span>` : escaped(by)}</td>
                  <td>${OUTCOMES[outcome]}</td>
                  <td>
                    ${escaped(text.split('\n')[0] ?? '')}${
                      report &&
                      html` <button type="button" class="quiet" onClick=${() => showReport(report)}>
                        Report
                      </button>`
                    }
                  </td>
                </tr>`,
            )}
          </tbody>
        </table>
      </div>`;

/** The running process: its uptime, limits, memory and event loop. */
const Running = ({ running }: { readonly running: RunningView | null }) =>
  running === null
    ? html`<p class="dim">
        Uptime, limits, memory and earlier reloads come from the control socket, which is not
        reachable here.
      </p>`
    : html`<dl class="facts">
          <dt>Process</dt>
          <dd>
            weir ${escaped(running.version)}, pid ${running.pid}, up ${since(running.startedAt)}
          </dd>
          <dt>Plane epoch</dt>
          <dd>${count(running.planeEpoch)}: how often the routing has been replaced</dd>
          <dt>Memory</dt>
          <dd>
            ${bytes(running.memory.resident)} resident; heap ${bytes(running.memory.heapUsed)} of
            ${' '}${bytes(running.memory.heapTotal)}, ${bytes(running.memory.external)} outside of
            it
          </dd>
          <dt>Event loop</dt>
          <dd>${loopText(running.loop)}</dd>
        </dl>
        ${
          running.limits.length > 0 &&
          html`<${PlainTable}
            caption="Limits"
            heads=${['Limit', 'Used', 'Of', 'Full']}
            rows=${running.limits.map(({ name, used, limit }) => ({
              key: name,
              cells: [escaped(name), count(used), count(limit), fullText(used, limit)],
            }))}
          />`
        }`;

const loopText = (loop: RunningView['loop']): string =>
  loop === null
    ? 'not measured yet'
    : `late by ${milliseconds(loop.p50)} (median), ${milliseconds(loop.p99)} (p99), ${milliseconds(loop.max)} at most in ${since(loop.since)}`;

const fullText = (used: number, limit: number): string => {
  const share = limit === 0 ? 0 : used / limit;
  const text = `${Math.round(share * 100)} %`;
  return isNearlyFull(used, limit) ? `▲ ${text}, nearly full` : text;
};
