/** Versions from the first (inclusive) to the second (exclusive) are affected. */
export type Affected = readonly [from: string, before: string];

/** An advisory of a package that Weir contains or is built with. */
export interface Advisory {
  /** In GitHub's database: `https://github.com/advisories/ID`. */
  readonly id: string;
  readonly name: string;
  readonly affected: readonly Affected[];
}

/** The day on which the list below was last compared with the database. */
export const ADVISORIES_CHECKED = '2026-11-28';

/**
 * The advisories that the packages of the lock file have had, for registries without the endpoint of `npm audit`. It cannot
 * replace that: it has what was published on the day above.
 */
export const ADVISORIES: readonly Advisory[] = [
  {
    id: 'GHSA-3wcq-x3mq-6r9p',
    name: 'dns-packet',
    affected: [
      ['0.0.0', '1.3.2'],
      ['2.0.0', '5.2.2'],
    ],
  },
  {
    id: 'GHSA-48c2-rrv3-qjmp',
    name: 'yaml',
    affected: [
      ['1.0.0', '1.10.3'],
      ['2.0.0', '2.8.3'],
    ],
  },
  { id: 'GHSA-f9xv-q969-pqx4', name: 'yaml', affected: [['2.0.0', '2.2.2']] },
  {
    id: 'GHSA-36hm-qxxp-pg3m',
    name: 'preact',
    affected: [
      ['10.26.5', '10.26.10'],
      ['10.27.0', '10.27.3'],
      ['10.28.0', '10.28.2'],
    ],
  },
  { id: 'GHSA-34q8-jcq6-mc37', name: 'uplot', affected: [['0.0.0', '1.6.31']] },
  { id: 'GHSA-96hv-2xvq-fx4p', name: 'ws', affected: [['8.0.0', '8.21.0']] },
  { id: 'GHSA-58qx-3vcg-4xpx', name: 'ws', affected: [['8.0.0', '8.20.1']] },
  { id: 'GHSA-67mh-4wv8-2f99', name: 'esbuild', affected: [['0.0.0', '0.24.3']] },
  { id: 'GHSA-g7r4-m6w7-qqqr', name: 'esbuild', affected: [['0.27.3', '0.28.1']] },
];
