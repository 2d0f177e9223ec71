/** What a program was built from, or runs from. */
export interface Build {
  /** The first COMMIT_DIGITS of the hash; with a `+` where files that it has were changed before the build. */
  readonly commit: string;
  /** The day of the commit; `null` for a checkout, whose changes are not known either. */
  readonly date: string | null;
}

/** Digits of its hash by which a commit is named. */
export const COMMIT_DIGITS = 12;

/** `2f3c9234d0aa of 2026-11-28`. */
export const buildText = ({ commit, date }: Build): string =>
  date === null ? commit : `${commit} of ${date}`;
