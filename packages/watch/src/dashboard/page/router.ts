import { signal, type ReadonlySignal } from '@preact/signals';

/** A parsed address: `#/connections?filter=user%3Aann` is `connections` with one parameter. */
export interface Place {
  readonly page: string;
  readonly parameters: Readonly<Record<string, string>>;
}

/** Some browsers truncate longer addresses. */
const MAX_HASH = 4000;

const current = signal<Place>({ page: '', parameters: {} });

/** The current place; it changes with links, `go`, and the Back button. */
export const place: ReadonlySignal<Place> = current;

/** The place that `hash` names; an empty or invalid hash gives the page ''. */
export function parsePlace(hash: string): Place {
  if (!hash.startsWith('#/') || hash.length > MAX_HASH) return { page: '', parameters: {} };
  const [page = '', query = ''] = splitOnce(hash.slice('#/'.length), '?');
  return { page, parameters: Object.fromEntries(new URLSearchParams(query)) };
}

/** The address of a place, for `href`. Parameters that are '' or undefined are left out. */
export function linkTo(
  page: string,
  parameters: Readonly<Record<string, string | undefined>> = {},
): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== undefined && value !== '') query.set(name, value);
  }
  return query.size === 0 ? `#/${page}` : `#/${page}?${query}`;
}

/** Navigates to a place; Back returns from it. */
export function go(page: string, parameters?: Readonly<Record<string, string | undefined>>): void {
  const link = linkTo(page, parameters);
  if (link !== location.hash) history.pushState(null, '', link);
  read();
}

/**
 * Changes parameters of the current place; '' and undefined remove a parameter. With `replace`, as for each typed
 * letter of a filter, Back leaves the page instead of undoing the change.
 */
export function setParameters(
  changes: Readonly<Record<string, string | undefined>>,
  { replace = false }: { readonly replace?: boolean } = {},
): void {
  const { page, parameters } = current.peek();
  const link = linkTo(page, { ...parameters, ...changes });
  if (link === location.hash) return;
  if (replace) history.replaceState(null, '', link);
  else history.pushState(null, '', link);
  read();
}

/** Updates `place` with the address from now on. */
export function startRouter(): void {
  addEventListener('hashchange', read);
  addEventListener('popstate', read);
  read();
}

function read(): void {
  const next = parsePlace(location.hash);
  if (
    linkTo(next.page, next.parameters) !== linkTo(current.peek().page, current.peek().parameters)
  ) {
    current.value = next;
  }
}

function splitOnce(text: string, separator: string): readonly string[] {
  const at = text.indexOf(separator);
  return at < 0 ? [text] : [text.slice(0, at), text.slice(at + separator.length)];
}

/** The address of Connections filtered by these facets: `{ out: 'tokyo' }` shows the flows on `tokyo`. */
export const connectionsLink = (facets: Readonly<Record<string, string>>): string =>
  linkTo('connections', {
    filter: Object.entries(facets)
      .map(([facet, value]) => `${facet}:${quotedUnlessPlain(value)}`)
      .join(' '),
  });

const quotedUnlessPlain = (value: string): string =>
  /^[^\s"\\]+$/.test(value) ? value : `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
