import {
  USAGE_DIMENSIONS,
  type DimensionUsage,
  type UsageCounts,
  type UsageDimension,
  type UsageEntry,
  type UsageReport,
} from '@weir/proxy/tracker';
import {
  isBoolean,
  isNumber,
  isObject,
  isText,
  listOf,
  optionally,
  shape,
} from '@weir/proxy/schema';

/*
 * `usage`: the request, and the response in lines of JSON. A report is a head, one or more lines for each dimension, and
 * `end`, without which it is incomplete.
 */

/** A request for what flows have used. */
export interface UsageRequest {
  /** The instance of an earlier response. */
  readonly instance?: string | undefined;
  /** The sequence of that response: entries that have not changed since are left out. */
  readonly since?: number | undefined;
  /** The only dimensions to report. */
  readonly by?: readonly UsageDimension[] | undefined;
  /** Milliseconds between reports that follow, each of what has changed since the one before; without it there is one. */
  readonly every?: number | undefined;
}

/** Limits of `every`. */
const INTERVAL_MS = { least: 100, most: 3_600_000 } as const;

/** Usage since the start of a process, or what has changed since an earlier response; see `UsageReport`. */
export interface RunningUsage extends UsageReport {
  /** Random id of the process: ids and sequences of another one have another meaning. */
  readonly instance: string;
}

/** Entries on a line. */
export const ENTRIES_A_LINE = 256;

const isDimension = (value: unknown): value is UsageDimension =>
  USAGE_DIMENSIONS.some((each) => each === value);

/** Whether a value is a sum or an id. */
const isCount = (value: unknown): value is number =>
  isNumber(value) && Number.isSafeInteger(value) && value >= 0;

const isInterval = (value: unknown): value is number =>
  isCount(value) && value >= INTERVAL_MS.least && value <= INTERVAL_MS.most;

export const isUsageRequest = shape<UsageRequest>({
  instance: optionally(isText),
  since: optionally(isCount),
  by: optionally(listOf(isDimension)),
  every: optionally(isInterval),
});

/** Yields the lines of a response. */
export function* usageLines(
  { dimensions, isComplete, ...head }: RunningUsage,
  by: readonly UsageDimension[] = USAGE_DIMENSIONS,
): Iterable<string> {
  yield lineOf({ kind: 'usage', ...head, complete: isComplete });
  for (const { entries, ...dimension } of dimensions) {
    if (!by.includes(dimension.by)) continue;
    let first = 0;
    do {
      const part = entries.slice(first, first + ENTRIES_A_LINE);
      yield lineOf({ ...dimension, ...encoded(part) });
      first += ENTRIES_A_LINE;
    } while (first < entries.length);
  }
  yield lineOf({ end: true });
}

/** Entries on a line: thousands of them change every second, so they are as short as can be. */
interface EncodedEntries {
  /** Id, up, down and flows of each entry. */
  readonly counts: readonly number[];
  /** Names of new entries by id. */
  readonly names: readonly (readonly [id: number, name: string])[];
}

function encoded(entries: readonly UsageEntry[]): EncodedEntries {
  const counts: number[] = [];
  const names: [number, string][] = [];
  for (const { id, name, up, down, flows } of entries) {
    counts.push(id, up, down, flows);
    if (name !== undefined) names.push([id, name]);
  }
  return { counts, names };
}

function* decoded({ counts, names }: EncodedEntries): Iterable<UsageEntry> {
  const byId = new Map(names);
  const at = (index: number): number => counts[index] ?? 0;
  for (let first = 0; first < counts.length; first += 4) {
    const id = at(first);
    yield { id, name: byId.get(id), up: at(first + 1), down: at(first + 2), flows: at(first + 3) };
  }
}

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;

const COUNTS = { up: isCount, down: isCount, flows: isCount };
const isCounts = shape<UsageCounts>(COUNTS);

type Head = Omit<RunningUsage, 'dimensions' | 'isComplete'> & { readonly complete: boolean };

const isHead = shape<Head>({
  instance: isText,
  sequence: isCount,
  complete: isBoolean,
  total: isCounts,
  removed: listOf(isCount),
});

const isEntries = (value: unknown): value is readonly number[] =>
  Array.isArray(value) && value.length % 4 === 0 && value.every(isCount);

/** The line of a dimension. */
type Part = Pick<DimensionUsage, 'by' | 'other'> & EncodedEntries;

const isPart = shape<Part>({
  by: isDimension,
  other: isCounts,
  counts: isEntries,
  names: listOf(isName),
});

function isName(value: unknown): value is readonly [number, string] {
  return Array.isArray(value) && value.length === 2 && isCount(value[0]) && isText(value[1]);
}

/** Puts a response together. */
export class UsageReader {
  readonly #parts = new Map<UsageDimension, { other: UsageCounts; entries: UsageEntry[] }>();
  #head: Omit<RunningUsage, 'dimensions'> | undefined;

  /** The response; `undefined` before its end. */
  result: RunningUsage | undefined;

  /** Adds a line, parsed. @returns false for anything else than the next line of a response */
  add(line: unknown): boolean {
    if (!this.#head) {
      if (!isHead(line)) return false;
      const { instance, sequence, complete, total, removed } = line;
      this.#head = { instance, sequence, isComplete: complete, total, removed };
      return true;
    }
    if (isPart(line)) {
      const part = this.#parts.get(line.by) ?? { other: line.other, entries: [] };
      this.#parts.set(line.by, part);
      for (const entry of decoded(line)) part.entries.push(entry);
      return true;
    }
    if (!isObject(line) || line['end'] !== true) return false;
    const dimensions = Array.from(this.#parts, ([by, part]) => ({ by, ...part }));
    this.result = { ...this.#head, dimensions };
    return true;
  }
}
