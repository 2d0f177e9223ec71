/** What Stryker's `json` reporter writes (mutation-testing-report-schema), as far as it is used here. */
export interface MutationReport {
  readonly files: Readonly<Record<string, { readonly mutants: readonly Mutant[] }>>;
}

export interface Mutant {
  readonly mutatorName: string;
  readonly replacement: string;
  readonly status: string;
  readonly location: { readonly start: { readonly line: number; readonly column: number } };
}

export interface Counts {
  readonly killed: number;
  readonly timedOut: number;
  readonly survived: number;
  readonly notCovered: number;
}

export function countMutants(report: MutationReport): Counts {
  const mutants = Object.values(report.files).flatMap((file) => file.mutants);
  const count = (status: string): number =>
    mutants.filter((mutant) => mutant.status === status).length;
  return {
    killed: count('Killed'),
    timedOut: count('Timeout'),
    survived: count('Survived'),
    notCovered: count('NoCoverage'),
  };
}

/** Mutants that a test noticed, in percent of all that were valid. */
export function score({ killed, timedOut, survived, notCovered }: Counts): number {
  const found = killed + timedOut;
  const all = found + survived + notCovered;
  return all === 0 ? 100 : (100 * found) / all;
}

/** One line for each mutant that no test noticed: place, operator and what stood there instead. */
export const survivors = (report: MutationReport): string[] =>
  Object.entries(report.files).flatMap(([file, { mutants }]) =>
    mutants
      .filter(({ status }) => status === 'Survived' || status === 'NoCoverage')
      .map(({ mutatorName, replacement, status, location: { start } }) => {
        const text = replacement.replaceAll(/\s+/g, ' ').slice(0, 100);
        const kind = status === 'NoCoverage' ? `${mutatorName}, not covered` : mutatorName;
        return `${file}:${start.line}:${start.column} ${kind}: ${text}`;
      }),
  );
