import { requestLogFilter } from '@weir/server/control';
import { parseFilter } from '@weir/base/log';
import { messageOf } from '@weir/base';
import { ActionError } from '../action-error.ts';
import type { DashboardContext, PageAction, PageTopic } from '../contract.ts';
import { Parameters } from '../parameters.ts';
import type { JsonValue } from '../shared/protocol.ts';
import { commandLine } from '../shared/texts.ts';
import { LOG_LEVELS, type LogEntry, type SharedLog } from '@weir/client/monitor';
import { LogWindows } from './log-windows.ts';
import { logStateView } from './state-view.ts';
import type { LogFilterPreview, LogRow, LogView } from './view.ts';

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
