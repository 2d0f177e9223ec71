import type { ReadonlySignal } from '@preact/signals';
import { useEffect } from 'preact/hooks';
import type { FrameState, FrameView } from '../frame/view.ts';
import { useCommands } from './commands.ts';
import { ConfirmHost } from './components/confirm.ts';
import { announce, LiveRegion } from './components/live-region.ts';
import { Notices } from './components/notice.ts';
import { connection, type ConnectionState } from './connection.ts';
import { StateBox, textOf, type PageState } from './components/states.ts';
import { setClock } from './clock.ts';
import { Header, type ShownHealth } from './header.ts';
import { Help, showHelp } from './help.ts';
import { html } from './html.ts';
import { Palette, showPalette } from './palette.ts';
import { PAGES, type PageEntry } from './pages.ts';
import { go, linkTo, place } from './router.ts';

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
