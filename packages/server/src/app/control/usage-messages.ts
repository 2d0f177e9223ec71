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
 * `usage`: the request, and the response in lines of JSON: a head, one or more lines for each dimension, and `end`,
 * without which the response is incomplete.
 */

/** A request for what flows have used. */
export interface UsageRequest {
  /** The instance of an earlier response. */
  readonly instance?: string | undefined;
  /** The sequence of that response: entries that have not changed since are left out. */
  readonly since?: number | undefined;
  /** The only dimensions to report. */
  readonly by?: readonly UsageDimension[] | undefined;
}

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

export const isUsageRequest = shape<UsageRequest>({
  instance: optionally(isText),
  since: optionally(isCount),
  by: optionally(listOf(isDimension)),
});

/** Yields the lines of a response. */
export function* usageLines(
  { dimensions, ...head }: RunningUsage,
  by: readonly UsageDimension[] = USAGE_DIMENSIONS,
): Iterable<string> {
  yield lineOf({ kind: 'usage', ...head });
  for (const { entries, ...dimension } of dimensions) {
    if (!by.includes(dimension.by)) continue;
    let first = 0;
    do {
      yield lineOf({ ...dimension, entries: entries.slice(first, first + ENTRIES_A_LINE) });
      first += ENTRIES_A_LINE;
    } while (first < entries.length);
  }
  yield lineOf({ end: true });
}

const lineOf = (value: object): string => `${JSON.stringify(value)}\n`;

const COUNTS = { up: isCount, down: isCount, flows: isCount };
const isCounts = shape<UsageCounts>(COUNTS);

type Head = Omit<RunningUsage, 'dimensions'>;

const isHead = shape<Head>({
  instance: isText,
  sequence: isCount,
  isComplete: isBoolean,
  total: isCounts,
  removed: listOf(isCount),
});

const isPart = shape<DimensionUsage>({
  by: isDimension,
  other: isCounts,
  entries: listOf(shape<UsageEntry>({ ...COUNTS, id: isCount, name: isText })),
});

/** Puts a response together. */
export class UsageReader {
  readonly #parts = new Map<UsageDimension, { other: UsageCounts; entries: UsageEntry[] }>();
  #head: Head | undefined;

  /** The response; `undefined` before its end. */
  result: RunningUsage | undefined;

  /** Adds a line, parsed. @returns false for anything else than the next line of a response */
  add(line: unknown): boolean {
    if (!this.#head) {
      if (!isHead(line)) return false;
      const { instance, sequence, isComplete, total, removed } = line;
      this.#head = { instance, sequence, isComplete, total, removed };
      return true;
    }
    if (isPart(line)) {
      const part = this.#parts.get(line.by);
      if (part) for (const entry of line.entries) part.entries.push(entry);
      else this.#parts.set(line.by, { other: line.other, entries: [...line.entries] });
      return true;
    }
    if (!isObject(line) || line['end'] !== true) return false;
    const dimensions = Array.from(this.#parts, ([by, part]) => ({ by, ...part }));
    this.result = { ...this.#head, dimensions };
    return true;
  }
}
