import type { DatabaseSync } from 'node:sqlite';
import type { NamedUsage, UsageCounts, UsageDimension } from '@weir/proxy/tracker';
import { HOUR_MS } from '@weir/base/text/amounts';
import { firstHour, numberOf, periodsIn, UNITS, type Unit } from './periods.ts';
import { databaseError, numberOfDimension, openForReading, OTHER } from './schema.ts';
import { byUse, isSome, NOTHING, plus } from './counts.ts';
import { countsIn, USED } from './usage-writer.ts';

/** Usage between two times, by name. */
export interface UsageSums {
  /** The times in Unix milliseconds, at whole hours; days or months where no hours are kept. */
  readonly since: number;
  readonly until: number;
  /** In the order of bytes, the most first. */
  readonly names: readonly NamedUsage[];
  /** Usage of which the names were not kept. */
  readonly other: UsageCounts;
  readonly total: UsageCounts;
}

/** What to sum up. Times are in Unix milliseconds: hours count that begin before `until` and end after `since`. */
export interface UsageQuestion {
  readonly by: UsageDimension;
  readonly since: number;
  readonly until: number;
}

/** Sums of one period. */
export interface PeriodUsage extends UsageCounts {
  /** When the period begins, in Unix milliseconds. */
  readonly at: number;
}

/** Answers questions about recorded usage. */
export class UsageDatabase implements Disposable {
  readonly #path: string;
  readonly #database: DatabaseSync;

  /** @throws {UsageDatabaseError} */
  constructor(path: string) {
    this.#path = path;
    this.#database = openForReading(path);
  }

  /** Returns the usage between two times by name. @throws {UsageDatabaseError} */
  sums({ by, since, until }: UsageQuestion): UsageSums {
    return this.atOnce(() => {
      const from = this.#kept(Math.floor(since / HOUR_MS));
      const end = Math.max(from, Math.ceil(until / HOUR_MS));
      const sums = new Sums();
      for (const { unit, first, last } of periodsIn(from, end)) {
        this.#addPeriods(sums, unit, first, last, by);
      }
      const hour = this.#currentHour();
      if (hour >= from && hour < end) this.#addCurrent(sums, by);
      return { since: from * HOUR_MS, until: end * HOUR_MS, ...sums.sorted() };
    });
  }

  /**
   * Returns what one name, or all names, have used in each period between two times; periods without usage are left out.
   * @throws {UsageDatabaseError}
   */
  series({ by, since, until }: UsageQuestion, unit: Unit, name?: string): readonly PeriodUsage[] {
    return this.atOnce(() => {
      const dimension = numberOfDimension(by);
      const [first, last] = [
        numberOf(unit, since / HOUR_MS),
        numberOf(unit, (until - 1) / HOUR_MS),
      ];
      const id = name === undefined ? null : this.#idOf(dimension, name);
      const sums = new Map<number, UsageCounts>();
      const rows = this.#database
        .prepare(
          `SELECT number, SUM(up) AS up, SUM(down) AS down, SUM(flows) AS flows FROM ${unit}
           WHERE number BETWEEN ? AND ? AND dimension = ? AND (? IS NULL OR name = ?)
           GROUP BY number`,
        )
        .iterate(first, last, dimension, id, id);
      for (const row of rows) sums.set(Number(row['number']), countsIn(row));
      const current = numberOf(unit, this.#currentHour());
      if (current >= first && current <= last) {
        const now = new Sums();
        this.#addCurrent(now, by);
        const counts = name === undefined ? now.sorted().total : now.of(name);
        sums.set(current, plus(sums.get(current) ?? NOTHING, counts));
      }
      return [...sums]
        .map(([number, counts]) => ({ at: firstHour(unit, number) * HOUR_MS, ...counts }))
        .filter(isSome)
        .sort((a, b) => a.at - b.at);
    });
  }

  /** Closes the database. */
  [Symbol.dispose](): void {
    this.#database.close();
  }

  /**
   * Answers all questions of `ask` as of one moment, while a recorder may write.
   * @throws {UsageDatabaseError}
   */
  atOnce<T>(ask: () => T): T {
    const database = this.#database;
    if (database.isTransaction) return ask();
    try {
      database.exec('BEGIN');
      try {
        return ask();
      } finally {
        database.exec('COMMIT');
      }
    } catch (error) {
      throw databaseError(this.#path, error);
    }
  }

  /** Returns the hour, or the begin of its day or month where no sums of hours or days are kept of it any more. */
  #kept(hour: number): number {
    let from = hour;
    for (const [index, unit] of UNITS.entries()) {
      const longer = UNITS[index + 1];
      if (longer === undefined) return from;
      const oldest = this.#oldest(unit);
      const isPruned = this.#oldest(longer) < numberOf(longer, firstHour(unit, oldest));
      if (!isPruned || numberOf(unit, from) >= oldest) return from;
      from = firstHour(longer, numberOf(longer, from));
    }
    return from;
  }

  /** Returns the number of the oldest period; infinite without any. */
  #oldest(unit: Unit): number {
    const row = this.#database.prepare(`SELECT MIN(number) AS number FROM ${unit}`).get();
    return Number(row?.['number'] ?? Infinity);
  }

  #currentHour(): number {
    return Number(this.#database.prepare('SELECT hour FROM reader').get()?.['hour']);
  }

  #idOf(dimension: number, name: string): number {
    const row = this.#database
      .prepare('SELECT id FROM names WHERE dimension = ? AND name = ?')
      .get(dimension, name);
    return Number(row?.['id'] ?? -1);
  }

  #addPeriods(sums: Sums, unit: Unit, first: number, last: number, by: UsageDimension): void {
    // One look-up a period: a range of numbers would read all dimensions.
    const rows = this.#database
      .prepare(
        `WITH RECURSIVE wanted (number) AS
           (SELECT ? UNION ALL SELECT number + 1 FROM wanted WHERE number < ?),
         used AS (
           SELECT s.name AS id, SUM(s.up) AS up, SUM(s.down) AS down, SUM(s.flows) AS flows
           FROM wanted CROSS JOIN ${unit} AS s ON s.number = wanted.number AND s.dimension = ?
           GROUP BY s.name)
         SELECT used.*, names.name FROM used LEFT JOIN names ON names.id = used.id`,
      )
      .iterate(first, last, numberOfDimension(by));
    for (const row of rows) {
      sums.add(row['id'] === OTHER ? undefined : String(row['name']), countsIn(row));
    }
  }

  /** Adds what was used in the hour that is being counted. */
  #addCurrent(sums: Sums, by: UsageDimension): void {
    const dimension = numberOfDimension(by);
    for (const row of this.#database.prepare(USED).iterate(dimension, dimension)) {
      const name = row['name'];
      sums.add(typeof name === 'string' ? name : undefined, countsIn(row));
    }
  }
}

/** Usage by name; `undefined` is what has no name. */
class Sums {
  readonly #sums = new Map<string | undefined, UsageCounts>();

  add(name: string | undefined, counts: UsageCounts): void {
    this.#sums.set(name, plus(this.#sums.get(name) ?? NOTHING, counts));
  }

  of(name: string): UsageCounts {
    return this.#sums.get(name) ?? NOTHING;
  }

  sorted(): Pick<UsageSums, 'names' | 'other' | 'total'> {
    const names: NamedUsage[] = [];
    let total = NOTHING;
    for (const [name, counts] of this.#sums) {
      total = plus(total, counts);
      if (name !== undefined) names.push({ name, ...counts });
    }
    return { names: names.sort(byUse), other: this.#sums.get(undefined) ?? NOTHING, total };
  }
}
