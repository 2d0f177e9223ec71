import { ApiClientError, type ApiClient } from '@weir/client/api';
import { ActionError } from '../action-error.ts';
import type { DashboardContext, PageAction } from '../contract.ts';
import { meantWeir } from '../meant-weir.ts';
import { commandLine } from '../shared/texts.ts';
import { matcherOf, parseFilter, type Term } from '@weir/client/filter';
import { readClosing } from './parameters.ts';
import { queryOf, selectorOf, selectorWords, type Selector } from './selector.ts';
import type { ClosingPreview, CloseResult } from './view.ts';

/** Maximum number of concurrent requests. */
const MOST_AT_ONCE = 16;
/** A command line with more ids is not shown. */
const MOST_IDS_SHOWN = 200;

interface Closing {
  readonly ids: readonly number[];
  /** The selector that matches the same flows; `undefined` if only a list of ids does. */
  readonly selector: Selector | undefined;
}

/** The actions `closing`, which previews what would be closed, and `close`. Both take `{ id }` or `{ filter }`. */
export function createCloseActions(context: DashboardContext): readonly PageAction[] {
  const { api } = context;
  return [
    {
      name: 'closing',
      changes: false,
      run: async (parameters) =>
        previewOf(closingOf(context, readClosing(parameters)), meantWeir(context)),
    },
    {
      name: 'close',
      changes: true,
      run: async (parameters, signal) => {
        const closing = closingOf(context, readClosing(parameters));
        const closed = closing.selector
          ? await closeSelected(api, closing.selector, signal)
          : await closeEach(api, closing.ids, signal);
        return { closed } satisfies CloseResult;
      },
    },
  ];
}

function closingOf(
  { monitor, now }: DashboardContext,
  what: { readonly id: number } | { readonly filter: string },
): Closing {
  if ('id' in what) return { ids: [what.id], selector: undefined };
  const parsed = parseFilter(what.filter);
  if (parsed.problem) throw new ActionError('bad-request', parsed.problem.message);
  const matches = matcherOf(parsed.terms);
  const time = now();
  const flows = Array.from(monitor.flows.values()).filter(
    (flow) => flow.closedAt === undefined && matches(flow, time),
  );
  const distinct = (key: 'outbound' | 'inbound' | 'user') => [
    ...new Set(flows.map(({ view }) => view[key] ?? '')),
  ];
  const isAmbiguous = flows.length === 0;
  return {
    ids: flows.map(({ view }) => view.id),
    selector: isAmbiguous ? undefined : selectorFor(parsed.terms, distinct),
  };
}

const selectorFor = (
  terms: readonly Term[],
  distinct: (key: 'outbound' | 'inbound' | 'user') => readonly string[],
): Selector | undefined =>
  selectorOf(terms, {
    outbound: distinct('outbound'),
    inbound: distinct('inbound'),
    user: distinct('user'),
  });

function previewOf({ ids, selector }: Closing, meant: readonly string[]): ClosingPreview {
  return {
    flows: ids.length,
    command: selector ? commandLine(selectorWords(selector, meant)) : idsCommand(ids, meant),
    isSelector: selector !== undefined,
  };
}

const idsCommand = (ids: readonly number[], meant: readonly string[]): string | null =>
  ids.length === 0 || ids.length > MOST_IDS_SHOWN
    ? null
    : commandLine(['weir', 'ctl', 'close', ...ids.map(String), ...meant]);

async function closeSelected(
  api: ApiClient,
  selector: Selector,
  signal: AbortSignal,
): Promise<number> {
  const body = await api.ask('DELETE', `/v1/connections${queryOf(selector)}`, { signal });
  const closed = typeof body === 'object' && body && 'closed' in body ? body.closed : 0;
  return Number(closed);
}

/** Closes flows one by one, and returns how many; those that have ended meanwhile are not counted. */
async function closeEach(
  api: ApiClient,
  ids: readonly number[],
  signal: AbortSignal,
): Promise<number> {
  const waiting = ids.values();
  let closed = 0;
  const work = async () => {
    for (const id of waiting) {
      if (await closeOne(api, id, signal)) closed++;
    }
  };
  await Promise.all(Array.from({ length: Math.min(MOST_AT_ONCE, ids.length) }, work));
  return closed;
}

async function closeOne(api: ApiClient, id: number, signal: AbortSignal): Promise<boolean> {
  try {
    await api.ask('DELETE', `/v1/connections/${id}`, { signal });
    return true;
  } catch (error) {
    if (error instanceof ApiClientError && error.status === 404) return false;
    throw error;
  }
}
