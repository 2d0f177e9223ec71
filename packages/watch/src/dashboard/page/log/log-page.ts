import { useLayoutEffect, useRef, useState, useEffect } from 'preact/hooks';
import type { LogParameters, LogRow, LogView, LogFilterPreview } from '../../log/view.ts';
import { useCommands } from '../commands.ts';
import { Grid, type Column } from '../components/grid.ts';
import { useWatch, act } from '../connection.ts';
import { count, counted, escaped, Name, timeOfDay } from '../format.ts';
import { valueOf, Search } from '../components/fields.ts';
import { html } from '../html.ts';
import { logText } from '../now/failing.ts';
import { place, setParameters, linkTo, connectionsLink } from '../router.ts';
import { CommandLine } from '../components/command-line.ts';
import { Dialog } from '../components/dialog.ts';
import { failureOf, notify, notifyFailure } from '../components/notice.ts';

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

/** A dialog that sets the log filter of the running Weir. */
function FilterDialog({
  filter,
  onClose,
}: {
  readonly filter: string | null;
  readonly onClose: () => void;
}) {
  const [text, setText] = useState(filter ?? 'info');
  const [preview, setPreview] = useState<LogFilterPreview | undefined>(undefined);
  const [problem, setProblem] = useState('');
  useEffect(() => {
    let isCurrent = true;
    act<LogFilterPreview>('log-filter-preview', { filter: text }).then(
      (found) => {
        if (!isCurrent) return;
        setPreview(found);
        setProblem('');
      },
      (error: unknown) => isCurrent && setProblem(failureOf(error).message),
    );
    return () => {
      isCurrent = false;
    };
  }, [text]);
  const change = async (event: Event) => {
    event.preventDefault();
    if (problem !== '') return;
    try {
      await act('log-filter', { filter: text });
      notify({ kind: 'done', text: `The log filter is ${text}, until the next start of Weir.` });
      onClose();
    } catch (error) {
      notifyFailure('The log filter was not changed', error);
    }
  };
  return html`<${Dialog} title="Log filter of Weir" onClose=${onClose}>
    <form class="filter-form" onSubmit=${change}>
      <p>
        Which lines Weir writes at all, for every reader of its log, until its next start.
        Now:${' '}
        <code>${filter === null ? 'not known' : escaped(filter)}</code>.
      </p>
      <label>
        Levels are off, error, warn, info, debug and trace; <code>target=level</code> is for a part
        <input
          autofocus
          value=${text}
          aria-invalid=${problem === '' ? undefined : 'true'}
          aria-describedby="filter-problem"
          onInput=${(event: Event) =>
            event.currentTarget instanceof HTMLInputElement && setText(event.currentTarget.value)}
        />
      </label>
      <p class="error" id="filter-problem" role="alert">${escaped(problem)}</p>
      ${preview && problem === '' && html`<${CommandLine} text=${preview.command} label="The same on the command line" />`}
      <div class="dialog-actions">
        <button type="button" onClick=${onClose}>Cancel</button>
        <button type="submit" class="primary" disabled=${problem !== ''}>Change the filter</button>
      </div>
    </form>
  <//>`;
}

type Line = Extract<LogRow, { readonly kind: 'line' }>;

/** Facets of Connections by the fields of lines. */
const FACETS: Readonly<Record<string, string>> = {
  inbound: 'in',
  outbound: 'out',
  host: 'host',
  user: 'user',
  source: 'src',
};

/** A line of the log in a sheet at the side. */
const LineSheet = ({ line, onClose }: { readonly line: Line; readonly onClose: () => void }) =>
  html`<${Dialog} sheet title=${`${line.level} at ${timeOfDay(line.at)}`} onClose=${onClose}>
    <pre
      class="log-message"
      tabindex="0"
      aria-label="Message"
    ><code>${messageText(line)}</code></pre>
    <dl class="facts">
      <dt>Target</dt>
      <dd><${Name} text=${line.target} /></dd>
      ${line.fields.map(
        ([name, value]) =>
          html`<dt><${Name} text=${name} /></dt>
            <dd>${sheetValue(name, value)}</dd>`,
      )}
    </dl>
  <//>`;

function sheetValue(name: string, value: string) {
  const facet = Object.hasOwn(FACETS, name) ? FACETS[name] : undefined;
  const text = html`<${Name} text=${value} />`;
  if (facet !== undefined) return html`<a href=${connectionsLink({ [facet]: value })}>${text}</a>`;
  return name === 'rule' ? html`<a href=${linkTo('rules', { rule: value })}>${text}</a>` : text;
}

const ofLine =
  (cell: (line: Line) => unknown) =>
  (row: LogRow): never =>
    (row.kind === 'line' ? cell(row) : '') as never;

/** The first line of a record; its details have all lines. */
function firstLine({ message }: Line) {
  const [first = '', ...others] = message.split('\n');
  return html`<${Name} text=${first} />${
      others.length > 0 && html` <span class="badge">+ ${counted(others.length, 'line')}</span>`
    }`;
}

const COLUMNS: readonly Column<LogRow>[] = [
  {
    key: 'at',
    title: 'Time',
    width: '5rem',
    card: 'line',
    cell: ({ at }) => timeOfDay(at),
  },
  {
    key: 'level',
    title: 'Level',
    width: '4rem',
    card: 'aside',
    cell: ofLine(({ level }) => html`<span class=${`level ${level}`}>${level}</span>`),
  },
  {
    key: 'target',
    title: 'Target',
    width: 'minmax(5rem, 10rem)',
    card: 'line-end',
    cell: ofLine(({ target }) => html`<${Name} text=${target} />`),
  },
  {
    key: 'message',
    title: 'Message',
    width: 'minmax(16rem, 1fr)',
    card: 'title',
    cell: ofLine(firstLine),
  },
];

/** The heading in place of missing lines. */
const lostHeading = (row: LogRow) =>
  row.kind === 'lost'
    ? html`▲ ${timeOfDay(row.at)}${' '}
      ${
        row.lost === null
          ? 'The log was not followed for a time: lines may be missing here'
          : `${counted(row.lost, 'line')} ${row.lost === 1 ? 'was' : 'were'} lost here, because this dashboard was too slow`
      }`
    : undefined;

/** The text of a line, with control characters and direction marks escaped. */
const messageText = ({ message }: Line): string => message.split('\n').map(escaped).join('\n');
