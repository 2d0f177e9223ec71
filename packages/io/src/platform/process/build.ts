/** The source that a program was built from, or runs from. */
export interface Build {
  /** The first COMMIT_DIGITS of the commit's hash; with a `+` if tracked files were changed before the build. */
  readonly commit: string;
  /** The day of the commit; `null` for a checkout, whose changes are unknown as well. */
  readonly date: string | null;
}

/** Number of hash digits by which a commit is named. */
export const COMMIT_DIGITS = 12;

/** Returns a build as text: `2f3c9234d0aa of 2026-11-28`. */
export const buildText = ({ commit, date }: Build): string =>
  date === null ? commit : `${commit} of ${date}`;

/** A release of Node, as listed in the changelog of its line. */
export interface NodeRelease {
  readonly version: string;
  /** The date of the release. */
  readonly date: string;
  /** Whether the changelog calls it a security release. */
  readonly isSecurity: boolean;
  /** Whether the npm registry has the release for Linux: Weir is not shipped with an older one of that line. */
  readonly isPackaged: boolean;
}

/** The day on which the list below was last compared with its sources. */
export const RELEASES_CHECKED = '2026-11-28';

/**
 * The security releases since June 2026 of the lines of Node that run Weir, and the other releases that Weir is shipped
 * with; newest first. Sources: CHANGELOG.md in the npm packages of Node, and `npm run advisories`, which fails for an
 * older pin.
 */
export const NODE_RELEASES: readonly NodeRelease[] = [
  { version: '26.13.1', date: '2026-11-11', isSecurity: true, isPackaged: false },
  { version: '24.22.3', date: '2026-11-11', isSecurity: true, isPackaged: true },
  { version: '26.12.1', date: '2026-10-21', isSecurity: true, isPackaged: true },
  { version: '24.22.1', date: '2026-10-21', isSecurity: true, isPackaged: true },
  { version: '26.10.0', date: '2026-09-22', isSecurity: false, isPackaged: true },
  { version: '26.5.1', date: '2026-07-29', isSecurity: true, isPackaged: true },
  { version: '24.18.1', date: '2026-07-29', isSecurity: true, isPackaged: true },
  { version: '26.3.1', date: '2026-06-18', isSecurity: true, isPackaged: true },
  { version: '24.17.0', date: '2026-06-18', isSecurity: true, isPackaged: true },
];

/** The standing of a version of Node among the known releases. */
interface NodeStanding {
  /** The date of the release; `undefined` if it is not in the list. */
  readonly date: string | undefined;
  /** The newer security releases of the line, newest first; `undefined` for a line that is not in the list. */
  readonly missing: readonly NodeRelease[] | undefined;
}

/** Returns the standing of a version. @param version as in `process.versions.node` */
export function nodeStanding(version: string, releases = NODE_RELEASES): NodeStanding {
  const line = releases.filter((each) => majorOf(each.version) === majorOf(version));
  return {
    date: line.find((each) => each.version === version)?.date,
    missing:
      line.length === 0
        ? undefined
        : line.filter((each) => each.isSecurity && isNewer(each.version, version)),
  };
}

/** Returns a version of Node with the date of its release, if known: `26.12.1 of 2026-10-21`. */
export function datedNode(version: string): string {
  const { date } = nodeStanding(version);
  return date === undefined ? version : `${version} of ${date}`;
}

/** Returns the security status of a version of Node, as half a sentence. */
export function securityOf(version: string, releases = NODE_RELEASES): string {
  const { missing } = nodeStanding(version, releases);
  if (missing === undefined) return `security releases of Node ${majorOf(version)} are not known`;
  const names = missing.map((each) => `${each.version} (${each.date})`).join(', ');
  return names === ''
    ? `no later security release of Node is known on ${RELEASES_CHECKED}`
    : `later security releases of Node, known on ${RELEASES_CHECKED}: ${names}`;
}

/**
 * Returns the warning at the start if a later security release is available; otherwise `undefined`. One that the
 * registry does not have causes no warning, since every start of a current Weir would show it.
 */
export function nodeWarning(version: string, releases = NODE_RELEASES): string | undefined {
  const newest = nodeStanding(version, releases).missing?.find((each) => each.isPackaged);
  return newest === undefined
    ? undefined
    : `Node ${version} runs this: it lacks the security release ${newest.version} of ${newest.date}`;
}

export const majorOf = (version: string): number => Number(/^\d+/.exec(version)?.[0]);

/** Whether a version of three numbers is newer than another. */
export function isNewer(version: string, other: string): boolean {
  const [a, b] = [version, other].map((text) => text.split('.').map(Number));
  const at = [0, 1, 2].find((index) => a?.[index] !== b?.[index]) ?? 0;
  return (a?.[at] ?? 0) > (b?.[at] ?? 0);
}
