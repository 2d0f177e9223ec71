import type { SeenReload } from '../../config/view.ts';
import { escaped, since, timeOfDay } from '../format.ts';
import { html } from '../html.ts';
import { showReport } from './report.ts';

const OUTCOMES: Readonly<Record<SeenReload['outcome'], string>> = {
  applied: '✓ applied',
  unchanged: '○ unchanged',
  failed: '✕ refused',
};

/** The reloads that the dashboard has seen, the newest first. */
export const Reloads = ({ reloads }: { readonly reloads: readonly SeenReload[] }) =>
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
