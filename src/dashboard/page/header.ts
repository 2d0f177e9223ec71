import type { HealthWord } from '../../monitor/health-word.ts';
import type { FrameView } from '../frame/view.ts';
import { counted, Name, rate, since } from './format.ts';
import { showHelp } from './help.ts';
import { html } from './html.ts';
import { showPalette } from './palette.ts';
import { theme, THEMES } from './settings.ts';

/** Health as shown: the page may have lost the dashboard itself. */
export type ShownHealth = HealthWord | 'Disconnected';

/** A shape beside the word, for users who cannot distinguish the colours. */
const SHAPES: Readonly<Record<ShownHealth, string>> = {
  Disconnected: '✕',
  Connecting: '◌',
  Serving: '●',
  'Reload refused': '▲',
  'API lost': '✕',
  'No API': '▲',
  Behind: '▲',
};

/** Data that is younger than this is current; milliseconds. */
const CURRENT_MS = 3000;

/** The header: name, version, health, rates, flows and age of the data. */
export function Header({
  view,
  health,
}: {
  readonly view: FrameView | undefined;
  readonly health: ShownHealth;
}) {
  return html`<header class="top">
    <div class="brand">
      <strong>${view ? html`<${Name} text=${view.name} />` : 'Weir'}</strong>
      <span class="version">${view?.version ?? ''}</span>
    </div>
    <p class="health" data-health=${health} title=${view?.why}>
      <span aria-hidden="true">${SHAPES[health]}</span> ${health}
    </p>
    ${view && html`<${Numbers} view=${view} />`}
    ${view?.readOnly === true && html`<span class="badge">read-only</span>`}
    <div class="tools">
      <button type="button" class="quiet wide" onClick=${nextTheme}>Theme: ${theme}</button>
      <button type="button" class="quiet" aria-keyshortcuts="Control+K" onClick=${showPalette}>
        Search <kbd class="wide">Ctrl K</kbd>
      </button>
      <button type="button" class="quiet icon" aria-label="Keys and settings" onClick=${showHelp}>
        ?
      </button>
    </div>
  </header>`;
}

function Numbers({ view }: { readonly view: FrameView }) {
  const { upRate, downRate, flows, at } = view;
  return html`<dl class="numbers">
    <div>
      <dt>Up</dt>
      <dd>${upRate === null ? '–' : rate(upRate)}</dd>
    </div>
    <div>
      <dt>Down</dt>
      <dd>${downRate === null ? '–' : rate(downRate)}</dd>
    </div>
    <div>
      <dt class="visually-hidden">Flows</dt>
      <dd>${flows === null ? '–' : counted(flows, 'flow')}</dd>
    </div>
    <div>
      <dt class="visually-hidden">Data</dt>
      <dd>${at === null ? 'no data' : ageText(at, view.now)}</dd>
    </div>
  </dl>`;
}

const ageText = (at: number, now: number): string =>
  now - at < CURRENT_MS ? 'live' : `${since(at)} old`;

function nextTheme(): void {
  theme.value = THEMES[(THEMES.indexOf(theme.value) + 1) % THEMES.length] ?? 'system';
}
