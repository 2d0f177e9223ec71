/** The branches of one file, and the lines of those that no test reached. */
export interface FileBranches {
  /** Path below the checkout. */
  readonly file: string;
  readonly found: number;
  readonly reached: number;
  readonly missedLines: readonly number[];
}

/**
 * Reads the branch records of an LCOV report (geninfo(1), "FILES"): `SF:` begins a file, each `BRDA:`
 * is one branch as line, block, branch and the times it was taken.
 */
export function readBranches(lcov: string): FileBranches[] {
  return lcov.split('end_of_record\n').flatMap((record) => {
    const file = /^SF:(.+)$/m.exec(record)?.[1];
    if (file === undefined) return [];
    const taken = Array.from(
      record.matchAll(/^BRDA:(\d+),\d+,\d+,(\d+|-)$/gm),
      ([, line, times]) => ({
        line: Number(line),
        isReached: times !== '0' && times !== '-',
      }),
    );
    const missed = taken.filter(({ isReached }) => !isReached);
    return [
      {
        file,
        found: taken.length,
        reached: taken.length - missed.length,
        missedLines: [...new Set(missed.map(({ line }) => line))].sort((a, b) => a - b),
      },
    ];
  });
}

/** Of all branches, in percent; a file without one is covered. */
export function percentReached(files: readonly FileBranches[]): number {
  const found = files.reduce((sum, file) => sum + file.found, 0);
  const reached = files.reduce((sum, file) => sum + file.reached, 0);
  return found === 0 ? 100 : (100 * reached) / found;
}
