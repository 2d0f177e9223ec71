import { type LogLevel, parseFilter } from '@weir/base/log';
import { LOG_LEVELS, type LogEntry, type LogStore, type SharedLog } from '@weir/client/monitor';
import { LRUCache } from 'lru-cache';
import { MAX_ROWS, type JsonValue } from '../shared/protocol.ts';
import type { DashboardContext, PageAction, PageTopic } from '../contract.ts';
import type { LogStateView, LogFilterPreview, LogRow, LogView } from './view.ts';
import { requestLogFilter } from '@weir/server/control';
import { messageOf } from '@weir/base';
import { ActionError, Parameters } from '../parameters.ts';
import { commandLine } from '../shared/texts.ts';

/** The selection of log lines that a page shows. */
interface ShownLines {
  readonly level: LogLevel;
  /** Prefix of the targets; empty for all. */
  readonly target: string;
  /** Substring of the message, the target or a field, in any case; empty for all. */
  readonly text: string;
}

/**
 * The entries of a store that match a selection, updated with work for new entries alone. Gaps of lost lines are part
 * of every selection: some of the lines may have matched.
 */
export class FilteredLog {
  readonly #store: LogStore;
  readonly #selects: (entry: LogEntry) => boolean;
  #entries: readonly LogEntry[] = [];
  /** The id of the next entry to examine. */
  #next = 0;

  constructor(store: LogStore, selection: ShownLines) {
    this.#store = store;
    this.#selects = selects(selection);
  }

  /** The matching entries, oldest first. */
  current(): readonly LogEntry[] {
    const { first, end } = this.#store;
    if (this.#next === end) return this.#entries;
    const kept = this.#entries.findIndex(({ id }) => id >= first);
    const before = kept < 0 ? [] : this.#entries.slice(kept);
    this.#entries = [...before, ...this.#store.from(this.#next).filter(this.#selects)];
    this.#next = end;
    return this.#entries;
  }
}

function selects({ level, target, text }: ShownLines): (entry: LogEntry) => boolean {
  const most = LOG_LEVELS.indexOf(level);
  const wanted = text.toLowerCase();
  return (entry) =>
    entry.kind === 'lost' ||
    (LOG_LEVELS.indexOf(entry.level) <= most &&
      entry.target.startsWith(target) &&
      (wanted === '' ||
        entry.message.toLowerCase().includes(wanted) ||
        entry.target.toLowerCase().includes(wanted) ||
        Object.values(entry.fields).some((value) => String(value).toLowerCase().includes(wanted))));
}

/** The window of a selection that a page shows. */
interface WantedRows {
  /** Index of the first row; `undefined` for the last rows. */
  readonly first: number | undefined;
  readonly until: number | undefined;
}

interface LogWindow {
  readonly first: number;
  readonly total: number;
  readonly entries: readonly LogEntry[];
  /** Number of selected entries after `until`. */
  readonly later: number;
}

/** Maximum number of cached selections and stopped lists: the pages of one reader seldom have more. */
const MAX_KEPT = 8;

/** Windows onto the log for pages with different selections, some of which have stopped following. */
export class LogWindows {
  readonly #store: LogStore;
  readonly #filtered = new LRUCache<string, FilteredLog>({ max: MAX_KEPT });
  /** Lists as they were when a page stopped: entries that the store drops meanwhile stay in their places. */
  readonly #stopped = new LRUCache<string, readonly LogEntry[]>({ max: MAX_KEPT });

  constructor(store: LogStore) {
    this.#store = store;
  }

  window(selection: ShownLines, { first, until }: WantedRows): LogWindow {
    const { level, target, text } = selection;
    const key = JSON.stringify([level, target, text]);
    const current = recent(this.#filtered, key, () => new FilteredLog(this.#store, selection));
    const all = current.current();
    const entries =
      until === undefined
        ? all
        : recent(this.#stopped, `${until} ${key}`, () => all.slice(0, countUntil(all, until)));
    const last = Math.max(0, entries.length - MAX_ROWS);
    const start = Math.min(first ?? last, last);
    return {
      first: start,
      total: entries.length,
      entries: entries.slice(start, start + MAX_ROWS),
      later: until === undefined ? 0 : all.length - countUntil(all, until),
    };
  }
}

/** The number of entries with an id up to `until`. */
function countUntil(entries: readonly LogEntry[], until: number): number {
  const index = entries.findLastIndex(({ id }) => id <= until);
  return index + 1;
}

/** Returns the value of a key, and creates it if missing. */
function recent<T extends object>(kept: LRUCache<string, T>, key: string, make: () => T): T {
  const value = kept.get(key) ?? make();
  kept.set(key, value);
  return value;
}

/** The state of following the log; a Weir that is started later may have a control socket. */
export const logStateView = (
  { socket }: Pick<DashboardContext, 'socket'>,
  log: SharedLog,
): LogStateView => (socket === undefined ? { kind: 'absent' } : log.state);

/** Bounds indexes and ids, far above those of any log. */
const MOST = Number.MAX_SAFE_INTEGER;

/** Maximum number of characters of a line that a page receives. */
const MAX_MESSAGE = 16_384;

export function logTopic(context: DashboardContext, log: SharedLog): PageTopic {
  const { store } = log;
  const windows = new LogWindows(store);
  return {
    name: 'log',
    view: (parameters): LogView => {
      const given = new Parameters(parameters);
      const { first, total, entries, later } = windows.window(
        {
          level: given.choice('level', LOG_LEVELS, 'trace'),
          target: given.text('target', ''),
          text: given.text('text', ''),
        },
        { first: given.count('first', MOST), until: given.count('until', MOST) },
      );
      const { monitor, socket, readOnly } = context;
      return {
        state: logStateView(context, log),
        filter: monitor.status?.value.log_filter ?? null,
        socket: socket ?? null,
        readOnly,
        first,
        total,
        rows: entries.map(rowOf),
        lost: store.lost,
        kept: store.end - store.first,
        newest: store.end - 1,
        later,
      };
    },
    hold: () => log.hold(),
    onChange: (listener) => log.onChange(listener),
  };
}

function rowOf(entry: LogEntry): LogRow {
  const { id, kind } = entry;
  const at = Math.round(entry.at);
  if (kind === 'lost') return { id, kind, at, lost: entry.lost ?? null };
  const { level, target, message, fields } = entry;
  return {
    id,
    kind,
    at,
    level,
    target,
    message: message.length > MAX_MESSAGE ? `${message.slice(0, MAX_MESSAGE)}…` : message,
    fields: Object.entries(fields).map(([name, value]) => [name, String(value)]),
  };
}

/**
 * The action `log-filter-preview`, with the parameter `{ filter }`: returns the filter and the command line that
 * `log-filter` corresponds to.
 */
export const logFilterPreview = (context: DashboardContext): PageAction => ({
  name: 'log-filter-preview',
  changes: false,
  run: (parameters): Promise<LogFilterPreview> => {
    const { filter, socket } = wantedFilter(context, parameters);
    const command = commandLine(['weir', 'log-level', filter, '--socket', socket]);
    return Promise.resolve({ filter, command });
  },
});

/**
 * The action `log-filter`, with the parameter `{ filter }`: sets the log filter of the running Weir until it restarts.
 */
export const logFilter = (context: DashboardContext): PageAction => ({
  name: 'log-filter',
  changes: true,
  run: async (parameters) => {
    const { filter, socket } = wantedFilter(context, parameters);
    const outcome = await requestLogFilter(socket, filter);
    if (outcome.kind === 'failed') throw new ActionError('refused', outcome.line);
    await context.monitor.refresh();
    return { filter };
  },
});

/** Checks the parameter `filter`. @throws {ActionError} */
function wantedFilter({ socket }: DashboardContext, parameters: JsonValue) {
  const filter = new Parameters(parameters).text('filter').trim();
  if (socket === undefined) {
    throw new ActionError('no-socket', 'the log filter is changed by the control socket', {
      hint: 'there is none, or it was not found: weir dashboard --socket PATH',
    });
  }
  try {
    parseFilter(filter);
  } catch (error) {
    throw new ActionError('bad-request', messageOf(error), { cause: error });
  }
  return { filter, socket };
}
