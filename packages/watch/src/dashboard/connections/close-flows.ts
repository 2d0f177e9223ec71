import { type Term, matcherOf, parseFilter } from '@weir/client/filter';
import { ApiClientError, type ApiClient } from '@weir/client/api';
import { ActionError } from '../parameters.ts';
import type { DashboardContext, PageAction } from '../contract.ts';
import { meantWeir } from '../meant-weir.ts';
import { commandLine } from '../shared/texts.ts';
import { readClosing } from './parameters.ts';
import type { ClosingPreview, CloseResult } from './view.ts';

/** Query parameters of `DELETE /v1/connections`. */
export type Selector = Readonly<Partial<Record<SelectorKey, string>>>;

type SelectorKey = 'outbound' | 'inbound' | 'user' | 'session';

const KEYS = { out: 'outbound', in: 'inbound', user: 'user' } as const;

/**
 * The selector of the API that matches the same flows as a filter; `undefined` if there is none. The API is
 * case-sensitive, a filter is not: `values` has the exact spelling.
 */
export function selectorOf(
  terms: readonly Term[],
  values: Readonly<Record<'outbound' | 'inbound' | 'user', readonly string[]>>,
): Selector | undefined {
  const selector: Partial<Record<SelectorKey, string>> = {};
  for (const term of terms) {
    if (term.negated) return undefined;
    if (term.kind === 'closed' && !term.closed) continue;
    const [key, value] = exactOf(term, values) ?? [];
    if (key === undefined || value === undefined) return undefined;
    if (selector[key] !== undefined && selector[key] !== value) return undefined;
    selector[key] = value;
  }
  return selector;
}

function exactOf(
  term: Term,
  values: Parameters<typeof selectorOf>[1],
): readonly [SelectorKey, string] | undefined {
  if (term.kind === 'number') {
    return term.facet === 'session' ? ['session', String(term.value)] : undefined;
  }
  if (term.kind !== 'equals' || term.pattern.includes('*')) return undefined;
  const { facet, pattern } = term;
  if (facet !== 'out' && facet !== 'in' && facet !== 'user') return undefined;
  const key = KEYS[facet];
  const exact = values[key].filter((value) => value.toLowerCase() === pattern);
  const [value] = exact;
  // The API has no selector for flows without a user.
  if (exact.length !== 1 || value === undefined || (key === 'user' && value === ''))
    return undefined;
  return [key, value];
}

/** The query of a request with this selector. */
export const queryOf = (selector: Selector): string => {
  const query = new URLSearchParams(Object.entries(selector)).toString();
  return query === '' ? '' : `?${query}`;
};

/** The command line of `weir ctl` that closes the flows of a selector. @param meant options that name the Weir */
function selectorWords(selector: Selector, meant: readonly string[]): readonly string[] {
  const words = Object.entries(selector).flatMap(([key, value]) =>
    // A value may look like an option.
    value.startsWith('-') ? [`--${key}=${value}`] : [`--${key}`, value],
  );
  return ['weir', 'ctl', 'close', ...(words.length === 0 ? ['--all'] : words), ...meant];
}

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
