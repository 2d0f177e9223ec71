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
