import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { LogParameters, LogRow, LogView } from '../../log/view.ts';
import { useCommands } from '../commands.ts';
import { Grid } from '../components/grid.ts';
import { useWatch } from '../connection.ts';
import { count, counted, escaped } from '../format.ts';
import { valueOf } from '../components/fields.ts';
import { Search } from '../components/search.ts';
import { html } from '../html.ts';
import { logText } from '../now/failing.ts';
import { place, setParameters } from '../router.ts';
import { COLUMNS, lostHeading } from './columns.ts';
import { FilterDialog } from './filter-dialog.ts';
import { LineSheet } from './line-sheet.ts';

const LEVELS = ['error', 'warn', 'info', 'debug', 'trace'] as const;

/** Distance from the end, in pixels, beyond which the list stops following. */
const AWAY = 48;

/** The position at which a page has stopped following. */
interface Stopped {
  readonly until: number;
  readonly first: number;
}

export function LogPage() {
  const { level: wanted, target = '', text = '' } = place.value.parameters;
  const level = LEVELS.find((each) => each === wanted) ?? 'trace';
  const [stopped, setStopped] = useState<Stopped | undefined>(undefined);
  const [opened, setOpened] = useState<LogRow | undefined>(undefined);
  const [asks, setAsks] = useState(false);
  const list = useRef<HTMLDivElement>(null);
  const parameters: LogParameters = { level, target, text, ...stopped };
  const view = useWatch<LogView>('log', parameters).value;

  const scroller = () => list.current?.querySelector('.grid');
  const stop = () => {
    if (view) setStopped((before) => before ?? { until: view.newest, first: view.first });
  };
  const resume = () => setStopped(undefined);
  useLayoutEffect(() => {
    const box = scroller();
    if (box && !stopped) box.scrollTop = box.scrollHeight;
  });
  useCommands([
    {
      title: stopped ? 'Follow the log' : 'Stop following the log',
      group: 'Log',
      key: 'f',
      run: stopped ? resume : stop,
    },
  ]);
  if (!view) return html`<p class="dim">Loading …</p>`;
  const mayChange = view.socket !== null && !view.readOnly;
  return html`<div class="bar">
      <label>
        Level${' '}
        <select
          value=${level}
          onChange=${(event: Event) =>
            event.currentTarget instanceof HTMLSelectElement &&
            setParameters({ level: event.currentTarget.value }, { replace: true })}
        >
          ${LEVELS.map(
            (each) =>
              html`<option value=${each} selected=${each === level}>
                ${each === 'trace' ? 'all' : each === 'error' ? each : `${each} and above`}
              </option>`,
          )}
        </select>
      </label>
      <input
        class="log-target"
        type="search"
        placeholder="Target"
        aria-label="Target"
        value=${target}
        onInput=${(event: Event) => setParameters({ target: valueOf(event) }, { replace: true })}
      />
      <${Search} label="Search the log" placeholder="Search" parameter="text" value=${text} />
      <button
        type="button"
        aria-pressed=${stopped ? 'false' : 'true'}
        onClick=${stopped ? resume : stop}
      >
        Follow
      </button>
    </div>
    <p class="dim log-state">
      <span>${logText(view.state)}</span>
      <span>${counted(view.total, 'line')} of ${count(view.kept)} kept</span>
      ${view.lost > 0 && html`<span>▲ ${counted(view.lost, 'line')} lost</span>`}
      <span
        >Filter of Weir:${' '}
        <code>${view.filter === null ? 'not known' : escaped(view.filter)}</code></span
      >
      ${mayChange && html`<button type="button" class="quiet" onClick=${() => setAsks(true)}>Change …</button>`}
    </p>
    <div
      class="log-list"
      ref=${list}
      onScrollCapture=${(event: Event) => {
        const box = event.target;
        if (!(box instanceof HTMLElement) || stopped) return;
        if (box.scrollHeight - box.clientHeight - box.scrollTop > AWAY) stop();
      }}
    >
      <${Grid}
        label="Log"
        columns=${COLUMNS}
        window=${view}
        id=${(row: LogRow) => row.id}
        onWindow=${(first: number) => setStopped((before) => before && { ...before, first })}
        onOpen=${(row: LogRow) => {
          stop();
          if (row.kind === 'line') setOpened(row);
        }}
        rowClass=${(row: LogRow) => (row.kind === 'line' ? `log-line ${row.level}` : '')}
        heading=${lostHeading}
        empty=${emptyText(view, text !== '' || target !== '' || level !== 'trace')}
      />
    </div>
    ${
      stopped &&
      html`<button type="button" class="primary log-resume" onClick=${resume}>
        ↓ ${view.later === 0 ? 'Follow' : `${counted(view.later, 'new line')}: follow`}
      </button>`
    }
    ${opened?.kind === 'line' && html`<${LineSheet} line=${opened} onClose=${() => setOpened(undefined)} />`}
    ${asks && html`<${FilterDialog} filter=${view.filter} onClose=${() => setAsks(false)} />`}`;
}

function emptyText({ state, kept }: LogView, selects: boolean): string {
  if (state.kind === 'absent') return 'The log comes by the control socket, and there is none.';
  if (selects && kept > 0) return 'No line matches.';
  return state.kind === 'following'
    ? 'Nothing has been logged yet.'
    : 'The log has not arrived yet.';
}
