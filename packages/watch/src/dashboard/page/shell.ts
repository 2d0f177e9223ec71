import { type ReadonlySignal, signal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { FrameState, FrameView } from '../frame/view.ts';
import { useCommands, commands } from './commands.ts';
import { ConfirmHost, Dialog } from './components/dialog.ts';
import { announce, LiveRegion } from './components/command-line.ts';
import { Notices } from './components/notice.ts';
import { connection, type ConnectionState } from './connection.ts';
import { StateBox, textOf, type PageState } from './components/states.ts';
import { setClock, counted, Name, rate, since } from './format.ts';
import { html } from './html.ts';
import { Palette, showPalette } from './palette.ts';
import { go, linkTo, place } from './router.ts';
import type { ComponentType } from 'preact';
import { ConfigPage } from './config/config-page.ts';
import { ConnectionsPage } from './connections/connections-page.ts';
import { LogPage } from './log/log-page.ts';
import { NodesPage } from './nodes/nodes-page.ts';
import { NowPage } from './now/now-page.ts';
import { RoutesPage } from './routes/routes-page.ts';
import { RulesPage } from './rules/rules-page.ts';
import { UsagePage } from './usage/usage-page.ts';
import { UsersPage } from './users/users-page.ts';
import type { HealthWord } from '@weir/client/monitor/health-word';
import { theme, THEMES, letterKeys } from './settings.ts';
import { Choice } from './components/fields.ts';

/** The frame around a page: header, navigation, states and notices. */
export function Shell({ frame }: { readonly frame: ReadonlySignal<FrameView | undefined> }) {
  const view = frame.value;
  const page = PAGES.find(({ name }) => name === place.value.page) ?? PAGES[0];
  const health = healthOf(connection.value, view);
  useEffect(() => {
    if (view) setClock(view.now);
  }, [view?.now]);
  useEffect(() => {
    document.title = titleOf(page, health);
  }, [page, health]);
  useEffect(() => {
    if (view) announce(view.why === '' ? health : `${health}: ${view.why}`);
  }, [health, view?.why]);
  useCommands([
    ...PAGES.map(({ name, title, key }) => ({
      title,
      group: 'Go to',
      key: `g ${key}`,
      run: () => go(name),
    })),
    { title: 'Search commands', group: 'Page', key: 'Control+k', run: showPalette },
    { title: 'Keys and settings', group: 'Page', key: '?', run: showHelp },
  ]);
  if (!page) return null;
  const { Page } = page;
  const states = [...ownStates(connection.value), ...(view?.states.filter(isForAll) ?? [])];
  return html`<a class="skip" href="#main" onClick=${skip}>Skip to the page</a>
    <${Header} view=${view} health=${health} />
    <nav class="pages" aria-label="Pages">
      ${PAGES.map(
        ({ name, title }) =>
          html`<a href=${linkTo(name)} aria-current=${name === page.name ? 'page' : undefined}
            >${title}</a
          >`,
      )}
    </nav>
    <main id="main" tabindex="-1" class=${states.some(isBlocking) ? 'stale' : undefined}>
      <h1 class="visually-hidden">${page.title}</h1>
      ${states.map((state) => html`<${StateBox} key=${state.kind} state=${state} isExplained=${EXPLAINS.has(page.name)} />`)}
      <${Page} key=${page.name} />
    </main>
    <${Notices} /><${ConfirmHost} /><${Palette} /><${Help} /><${LiveRegion} />`;
}

/** Pages that explain a refused reload themselves, with the lines around the place. */
const EXPLAINS: ReadonlySet<string> = new Set(['config', 'routes']);

/** States between this page and the dashboard's process. */
function ownStates(state: ConnectionState): readonly PageState[] {
  switch (state.kind) {
    case 'connecting':
    case 'open':
    case 'paused':
      return [];
    case 'lost':
      return [{ kind: 'dashboard-ended' }];
    case 'too-many-windows':
      return [{ kind: 'too-many-windows' }];
    case 'signed-out':
      return [{ kind: 'signed-out', why: state.why }];
    default:
      return state satisfies never;
  }
}

const healthOf = ({ kind }: ConnectionState, view: FrameView | undefined): ShownHealth =>
  kind === 'lost' || kind === 'signed-out' ? 'Disconnected' : (view?.health ?? 'Connecting');

/** Whether the page below shows the last known state. */
const isBlocking = (state: PageState): boolean => textOf(state).weight === 'blocking';

/** Whether the shell shows a state on every page: pages with lists explain an empty list themselves. */
const isForAll = ({ kind }: FrameState): boolean => kind !== 'no-flows';

const titleOf = (page: PageEntry | undefined, health: ShownHealth): string =>
  [...(health === 'Serving' ? [] : [health]), page?.title ?? '', 'Weir'].join(' · ');

/** Moves the focus without changing the fragment, which belongs to the router. */
function skip(event: Event): void {
  event.preventDefault();
  document.getElementById('main')?.focus();
}

/** An entry of the navigation. */
interface PageEntry {
  /** The page's part of the address: `#/NAME`. */
  readonly name: string;
  /** Shown in the navigation and as the heading of the page. */
  readonly title: string;
  /** The letter that opens the page after `g`. */
  readonly key: string;
  /**
   * The content of `main` below the heading. It gets its parameters from `place`, data by `useWatch`, and offers keys
   * and palette entries by `useCommands`. The shell shows the states that concern all pages above it.
   */
  readonly Page: ComponentType;
}

/** All pages in the order of the navigation; the first is shown for an empty address. */
const PAGES: readonly PageEntry[] = [
  { name: 'now', title: 'Now', key: 'n', Page: NowPage },
  { name: 'connections', title: 'Connections', key: 'c', Page: ConnectionsPage },
  { name: 'routes', title: 'Routes', key: 'r', Page: RoutesPage },
  { name: 'nodes', title: 'Nodes', key: 'o', Page: NodesPage },
  { name: 'users', title: 'Users', key: 'u', Page: UsersPage },
  { name: 'usage', title: 'Usage', key: 's', Page: UsagePage },
  { name: 'rules', title: 'Rules', key: 'l', Page: RulesPage },
  { name: 'config', title: 'Config', key: 'f', Page: ConfigPage },
  { name: 'log', title: 'Log', key: 't', Page: LogPage },
];

/** Health as shown: the page may have lost the dashboard itself. */
type ShownHealth = HealthWord | 'Disconnected';

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
function Header({
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

const open = signal(false);

/** Opens the list of keys of the current page. */
const showHelp = (): void => {
  open.value = true;
};

/** The list of keys, and the switch for single letters. */
function Help() {
  if (!open.value) return null;
  const groups = Map.groupBy(
    commands.value.filter(({ key }) => key !== undefined),
    ({ group }) => group,
  );
  const close = () => {
    open.value = false;
  };
  return html`<${Dialog} title="Keys and settings" onClose=${close}>
    <label class="option">
      <input
        type="checkbox"
        checked=${letterKeys.value === 'on'}
        onChange=${() => {
          letterKeys.value = letterKeys.value === 'on' ? 'off' : 'on';
        }}
      />
      Single letters are keys
    </label>
    <${Choice}
      label="Colours"
      value=${theme.value}
      options=${THEMES.map((name) => [name, name])}
      onChange=${(name: string) => {
        theme.value = THEMES.find((known) => known === name) ?? 'system';
      }}
    />
    <p class="dim">In a list: arrows, Page Up and Down, Home, End; Enter opens, Esc closes.</p>
    ${[...groups].map(
      ([group, list]) =>
        html`<h3>${group}</h3>
          <dl class="keys">
            ${list.map(
              ({ key = '', title }) =>
                html`<div>
                  <dt>
                    ${key.split(' ').map((part) => html`<kbd>${part.replace('Control+', 'Ctrl ')}</kbd> `)}
                  </dt>
                  <dd>${title}</dd>
                </div>`,
            )}
          </dl>`,
    )}
  <//>`;
}
