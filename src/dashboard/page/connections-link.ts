import { linkTo } from './router.ts';

/** The address of Connections filtered by these facets: `{ out: 'tokyo' }` shows the flows on `tokyo`. */
export const connectionsLink = (facets: Readonly<Record<string, string>>): string =>
  linkTo('connections', {
    filter: Object.entries(facets)
      .map(([facet, value]) => `${facet}:${quotedUnlessPlain(value)}`)
      .join(' '),
  });

const quotedUnlessPlain = (value: string): string =>
  /^[^\s"\\]+$/.test(value) ? value : `"${value.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
