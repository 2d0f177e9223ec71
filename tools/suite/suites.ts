import { globSync } from 'node:fs';
import { join, matchesGlob } from 'node:path';

/** How the test files of one suite are run. */
export interface Suite {
  /** Globs below `test/`, of the root and of packages, in the order in which their files are begun: those that last long first. */
  readonly files: readonly string[];
  /** Files at a time. Tests that wait for other programs take little processor time. */
  readonly width: number;
  /** Files that share a process, which is cheaper by its start: one unless they need none of their own. */
  readonly together?: number;
  /** Seconds for one test, and for one process with all of its tests. */
  readonly testSeconds: number;
  readonly fileSeconds: number;
  /** Whether its tests start processes: files that fail are run once more, alone. */
  readonly startsProcesses: boolean;
  /** A module of `test/` with `globalSetup` and `globalTeardown`, which surround the suite. */
  readonly around?: string;
  /** Variables of the processes of its files. */
  readonly env?: Readonly<Record<string, string>>;
  /** Options of node for them. */
  readonly nodeArgs?: readonly string[];
}

/** Node's compile cache of all runs: modules are neither stripped of types nor compiled again. */
const COMPILED = { NODE_COMPILE_CACHE: join(import.meta.dirname, '../../out/compiled') };
/** Every use of a descriptor is checked, and a lost event fails the test that met it: test/checked.env. */
const CHECKED = { ...COMPILED, WEIR_IO_CHECK: '1' };
/** Starts one Weir, whose modules the others then have from the cache: a process that is killed adds none. */
const STARTED = 'support/process/around.ts';
/** The tests are the work of the process: to collect garbage often, or in threads, takes a tenth more of it. */
const SELDOM_COLLECTED = [
  '--single-threaded-gc',
  '--min-semi-space-size=16',
  '--max-semi-space-size=64',
] as const;
const before = (module: string): string => `--import=${import.meta.resolve(module)}`;
const SEEDED = before('./seeded.ts');
const IN_PROCESS = {
  startsProcesses: false,
  env: CHECKED,
  nodeArgs: [SEEDED, before('./untracked.ts'), ...SELDOM_COLLECTED],
} as const;
const INTEROP = {
  env: COMPILED,
  around: 'interop/around.ts',
  // Its files wait for half of their time.
  width: 4,
  startsProcesses: true,
} as const;

export const SUITES = {
  /** Those that are waited for at work. */
  unit: {
    files: ['unit/**/!(*.slow).test.ts'],
    width: 3,
    together: 80,
    testSeconds: 120,
    fileSeconds: 240,
    ...IN_PROCESS,
  },
  'unit-slow': {
    files: ['unit/**/*.slow.test.ts'],
    width: 3,
    together: 8,
    testSeconds: 120,
    fileSeconds: 240,
    ...IN_PROCESS,
  },
  conformance: {
    files: ['conformance/*.test.ts'],
    width: 2,
    testSeconds: 120,
    fileSeconds: 180,
    ...IN_PROCESS,
  },
  scenarios: {
    files: [
      'scenarios/{sleep,roaming,failed-flows,hysteria2,command-output}.test.ts',
      'scenarios/{secrets,api-lifecycle,picks-model,tunnels,balancer-failures}.test.ts',
      'scenarios/**/*.test.ts',
    ],
    // A file waits for its processes, one after the other: three files use 1.4 cores. Five were steady on two idle
    // cores, and had two flaky tests beside a busy loop on one of them.
    width: 4,
    testSeconds: 120,
    fileSeconds: 240,
    startsProcesses: true,
    around: STARTED,
    env: CHECKED,
    nodeArgs: [SEEDED],
  },
  /** The same flows on the sockets of Node.js alone, as on systems other than Linux. */
  'node-io': {
    files: ['scenarios/{self,rules,reload}.test.ts', 'unit/library/*.test.ts'],
    width: 2,
    testSeconds: 60,
    fileSeconds: 120,
    startsProcesses: true,
    around: STARTED,
    env: { ...CHECKED, WEIR_IO: 'node' },
  },
  browser: {
    files: ['browser/*.test.ts'],
    width: 2,
    testSeconds: 120,
    fileSeconds: 240,
    startsProcesses: true,
    around: STARTED,
    env: COMPILED,
  },
  interop: {
    ...INTEROP,
    files: ['interop/wireguard*.test.ts', 'interop/matrix/*.test.ts', 'interop/**/*.test.ts'],
    testSeconds: 180,
    fileSeconds: 480,
  },
  /** The matrix in full, and its table in docs/interop.md. */
  'interop-table': {
    ...INTEROP,
    files: ['interop/matrix/*.test.ts'],
    testSeconds: 1800,
    fileSeconds: 3600,
  },
  packaging: {
    files: ['packaging/{repeated,npm}.test.ts', 'packaging/*.test.ts'],
    width: 3,
    testSeconds: 180,
    fileSeconds: 240,
    startsProcesses: true,
    around: 'packaging/built.ts',
  },
  arm64: {
    files: ['arm64/*.test.ts'],
    width: 2,
    testSeconds: 180,
    fileSeconds: 240,
    startsProcesses: true,
    around: 'arm64/prepare.ts',
  },
} as const satisfies Readonly<Record<string, Suite>>;

export type SuiteName = keyof typeof SUITES;

const below = (pattern: string): string => `{test,packages/*/test}/${pattern}`;

/** The files of a suite, in the order in which they are begun. */
export const filesOf = ({ files }: Pick<Suite, 'files'>): readonly string[] => [
  ...new Set(files.flatMap((pattern) => globSync(below(pattern)).toSorted())),
];

/** The suite in which `npm test` and its like run a test file. */
export function suiteOf(file: string): SuiteName | undefined {
  const names = Object.keys(SUITES) as SuiteName[];
  // Two suites run some of the files of others in another way.
  return names
    .filter((name) => name !== 'node-io' && name !== 'interop-table')
    .find((name) => SUITES[name].files.some((pattern) => matchesGlob(file, below(pattern))));
}
