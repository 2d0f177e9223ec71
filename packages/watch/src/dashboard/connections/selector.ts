import type { Term } from '@weir/client/filter';

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
export function selectorWords(selector: Selector, meant: readonly string[]): readonly string[] {
  const words = Object.entries(selector).flatMap(([key, value]) =>
    // A value may look like an option.
    value.startsWith('-') ? [`--${key}=${value}`] : [`--${key}`, value],
  );
  return ['weir', 'ctl', 'close', ...(words.length === 0 ? ['--all'] : words), ...meant];
}
