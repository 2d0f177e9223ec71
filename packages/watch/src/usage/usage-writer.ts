import type { DatabaseSync, StatementSync } from 'node:sqlite';
import {
  type NamedUsage,
  USAGE_DIMENSIONS,
  type UsageCounts,
  type UsageDimension,
} from '@weir/proxy/tracker';
import type { RunningUsage } from '@weir/server/control';
import { byUse, isSome, minus, NOTHING, plus } from './counts.ts';
import { firstHour, numberOf, UNITS, type Unit } from './periods.ts';
import { databaseError, numberOfDimension, openForWriting, OTHER } from './schema.ts';

/** What was read last: the next report is asked for what has changed since. */
export interface ReadPosition {
  readonly instance: string;
  readonly sequence: number;
}

/** Names kept of a period, by bytes; the usage of the rest is kept as a sum. */
type Kept = Readonly<Record<UsageDimension, number>>;

/** Accounts and tags come from configurations, so nearly all are kept; sources and hosts from clients. */
const CONFIGURED = { user: 8192, inbound: 8192, outbound: 8192 } as const;
const MOST_KEPT: Readonly<Record<Unit, Kept>> = {
  hours: { ...CONFIGURED, source: 1000, host: 300 },
  days: { ...CONFIGURED, source: 3000, host: 1000 },
  months: { ...CONFIGURED, source: 10_000, host: 3000 },
};

/** Names kept of entries that are gone, in a dimension of the hour that is being counted. */
const MOST_ENDED = 16_384;

/** How long sums are kept, in days; those of months are kept for ever. */
export interface Retention {
  readonly hours: number;
  readonly days: number;
}

export const STANDARD_RETENTION: Retention = { hours: 400, days: 1100 };

/** Hours of a day with usage, after which sums that are too old are deleted. */
const HOURS_TO_PRUNE = 12;

/** Records reports of usage in a database, each in one transaction with the position of the reader. */
export class UsageWriter implements Disposable {
  readonly #path: string;
  readonly #retention: Retention;
  readonly #database: DatabaseSync;
  readonly #statements: ReturnType<typeof prepare>;

  /** @throws {UsageDatabaseError} */
  constructor(path: string, retention = STANDARD_RETENTION) {
    this.#path = path;
    this.#retention = retention;
    this.#database = openForWriting(path);
    this.#statements = prepare(this.#database);
  }

  /** What was read last. @throws {UsageDatabaseError} */
  get position(): ReadPosition {
    try {
      const { instance, sequence } = this.#reader();
      return { instance, sequence };
    } catch (error) {
      throw databaseError(this.#path, error);
    }
  }

  /**
   * Records a report.
   * @param since the position that it was asked for
   * @param hour the hour in which it counts, see `hourOf`
   * @returns false when another process has recorded since, so that the report says nothing
   * @throws {UsageDatabaseError} nothing was recorded then
   */
  record(report: RunningUsage, since: ReadPosition, hour: number): boolean {
    return this.#transaction(() => {
      const reader = this.#reader();
      if (reader.instance !== since.instance || reader.sequence !== since.sequence) return false;
      if (reader.hour !== hour) this.#endHour(reader.hour, hour);
      if (reader.instance !== report.instance) this.#forgetProcess();
      this.#count(report);
      this.#statements.setReader.run(report.instance, report.sequence, hour);
      return true;
    });
  }

  /** Limits the size of the database, for tests of a full disk. @param pages of 4096 bytes */
  limitPages(pages: number): void {
    this.#database.exec(`PRAGMA max_page_count = ${pages}`);
  }

  /** Closes the database. */
  [Symbol.dispose](): void {
    this.#database.close();
  }

  #transaction<T>(work: () => T): T {
    const database = this.#database;
    try {
      database.exec('BEGIN IMMEDIATE');
      const result = work();
      database.exec('COMMIT');
      return result;
    } catch (error) {
      // SQLite itself rolls back after some failures, such as that of a full disk.
      if (database.isTransaction) database.exec('ROLLBACK');
      throw databaseError(this.#path, error);
    }
  }

  #reader(): ReadPosition & { readonly hour: number } {
    const row = this.#statements.reader.get();
    if (!row) throw new RangeError('the database has no reader');
    return {
      instance: String(row['instance']),
      sequence: Number(row['sequence']),
      hour: Number(row['hour']),
    };
  }

  #count({ dimensions, isComplete, removed }: RunningUsage): void {
    const { setCounts, addEntry, vanished, ids } = this.#statements;
    const missing = new Set<number>(removed);
    if (isComplete) for (const { id } of ids.iterate()) missing.add(Number(id));
    const gone = new Set(removed);
    for (const { by, entries } of dimensions) {
      const dimension = numberOfDimension(by);
      for (const { id, name, up, down, flows } of entries) {
        if (!gone.has(id)) missing.delete(id);
        if (setCounts.run(up, down, flows, id).changes > 0) continue;
        if (name === undefined) throw new RangeError('the report does not name a new entry');
        addEntry(id, dimension, name, { up, down, flows });
      }
    }
    for (const by of USAGE_DIMENSIONS) missing.delete(otherId(by));
    for (const id of missing) this.#end(id);
    if (missing.size > 0) this.#boundEnded();
    for (const { by, other } of dimensions) {
      const seen = countsIn(vanished.get(numberOfDimension(by)));
      const rest = minus(other, seen);
      const id = otherId(by);
      if (setCounts.run(rest.up, rest.down, rest.flows, id).changes === 0) {
        addEntry(id, numberOfDimension(by), null, rest);
      }
    }
  }

  /** Moves what an entry that is gone has used in this hour to `ended`. */
  #end(id: number): void {
    const { recorded, addEnded, addVanished, deleteEntry, deleteCounts } = this.#statements;
    const row = recorded.get(id);
    if (!row) return;
    const { dimension = null, name = null } = row;
    const counts = countsIn(row);
    const used = minus(counts, baseIn(row));
    addVanished.run(dimension, counts.up, counts.down, counts.flows);
    if (isSome(used)) addEnded.run(dimension, name, used.up, used.down, used.flows);
    deleteEntry.run(id);
    deleteCounts.run(id);
  }

  /** Ends all entries, since another process is read from now on. */
  #forgetProcess(): void {
    const { ids, clearVanished } = this.#statements;
    const others = new Set(USAGE_DIMENSIONS.map(otherId));
    for (const { id } of ids.all()) if (!others.has(Number(id))) this.#end(Number(id));
    for (const id of others) this.#restartOther(id);
    clearVanished.run();
    this.#boundEnded();
  }

  /** Begins the count of what has no name anew, at 0, and keeps what it was in this hour. */
  #restartOther(id: number): void {
    const row = this.#statements.recorded.get(id);
    if (!row) return;
    const used = minus(countsIn(row), baseIn(row));
    this.#statements.setCounts.run(0, 0, 0, id);
    this.#statements.setBase.run(-used.up, -used.down, -used.flows, id);
  }

  /** Counts usage of this hour without its name. */
  #addToOther(dimension: number, { up, down, flows }: UsageCounts): void {
    const { lowerBase, addEntry } = this.#statements;
    const id = -1 - dimension;
    if (lowerBase.run(up, down, flows, id).changes > 0) return;
    addEntry(id, dimension, null, { up: 0, down: 0, flows: 0 });
    lowerBase.run(up, down, flows, id);
  }

  #boundEnded(): void {
    const { countEnded, endedOf, deleteEnded } = this.#statements;
    for (const by of USAGE_DIMENSIONS) {
      const dimension = numberOfDimension(by);
      if (Number(countEnded.get(dimension)?.['names']) <= MOST_ENDED) continue;
      for (const row of endedOf.all(dimension).slice(MOST_ENDED / 2)) {
        this.#addToOther(dimension, countsIn(row));
        deleteEnded.run(dimension, row['name'] ?? '');
      }
    }
  }

  /** Adds what was used in an hour to the sums of its periods. @param next the hour that follows, or another one */
  #endHour(hour: number, next: number): void {
    const { clearEnded, beginHour } = this.#statements;
    for (const by of USAGE_DIMENSIONS) this.#addHour(hour, by);
    clearEnded.run();
    beginHour.run();
    const [day, nextDay] = [numberOf('days', hour), numberOf('days', next)];
    if (day === nextDay) return;
    this.#compact('days', day);
    this.#compact('months', numberOf('months', hour));
    // A clock that was set must not delete anything: it goes on to the next day after hours of use only.
    if (nextDay === day + 1 && this.#hoursCounted(day) >= HOURS_TO_PRUNE) this.#prune(nextDay);
  }

  /** Returns the number of hours of a day in which anything was used. */
  #hoursCounted(day: number): number {
    const first = firstHour('days', day);
    return Number(this.#statements.countHours.get(first, first + 23)?.['hours']);
  }

  #addHour(hour: number, by: UsageDimension): void {
    const { used, add } = this.#statements;
    const dimension = numberOfDimension(by);
    const named: NamedUsage[] = [];
    let rest: UsageCounts = NOTHING;
    for (const row of used.iterate(dimension, dimension)) {
      const name = row['name'];
      if (typeof name === 'string') named.push({ name, ...countsIn(row) });
      else rest = plus(rest, countsIn(row));
    }
    const most = MOST_KEPT.hours[by];
    // Bytes first: what is left out is the least.
    if (named.length > most) named.sort(byUse);
    for (const { name, ...counts } of named.splice(0, most)) {
      this.#addToPeriods(hour, dimension, this.#idOf(dimension, name), counts, add);
    }
    for (const counts of named) rest = plus(rest, counts);
    if (isSome(rest)) this.#addToPeriods(hour, dimension, OTHER, rest, add);
  }

  #addToPeriods(
    hour: number,
    dimension: number,
    name: number,
    { up, down, flows }: UsageCounts,
    add: Readonly<Record<Unit, StatementSync>>,
  ): void {
    for (const unit of UNITS) {
      add[unit].run(numberOf(unit, hour), dimension, name, up, down, flows);
    }
  }

  #idOf(dimension: number, name: string): number {
    const { findName, addName } = this.#statements;
    const found = findName.get(dimension, name)?.['id'];
    return found === undefined
      ? Number(addName.run(dimension, name).lastInsertRowid)
      : Number(found);
  }

  /** Keeps the names of a period with the most bytes, and the sum of the rest. */
  #compact(unit: Unit, number: number): void {
    const { least, remove, add } = this.#statements;
    for (const by of USAGE_DIMENSIONS) {
      const dimension = numberOfDimension(by);
      let rest: UsageCounts = NOTHING;
      for (const row of least[unit].all(number, dimension, OTHER, MOST_KEPT[unit][by])) {
        rest = plus(rest, countsIn(row));
        remove[unit].run(number, dimension, row['name'] ?? OTHER);
      }
      if (!isSome(rest)) continue;
      add[unit].run(number, dimension, OTHER, rest.up, rest.down, rest.flows);
    }
  }

  /** Deletes sums that are older than they are kept for. */
  #prune(day: number): void {
    const { before, dropNames } = this.#statements;
    before.hours.run(firstHour('days', day - this.#retention.hours));
    before.days.run(day - this.#retention.days);
    // This reads the whole database, which takes seconds.
    if (
      numberOf('months', firstHour('days', day)) !== numberOf('months', firstHour('days', day - 1))
    )
      dropNames.run();
  }
}

const otherId = (by: UsageDimension): number => -1 - numberOfDimension(by);

type Row = Readonly<Record<string, unknown>>;

/** The counts in a row; 0 without one. */
export const countsIn = (row: Row | undefined): UsageCounts => ({
  up: Number(row?.['up'] ?? 0),
  down: Number(row?.['down'] ?? 0),
  flows: Number(row?.['flows'] ?? 0),
});

/** The counts with which an entry began the hour. */
const baseIn = (row: Row): UsageCounts => ({
  up: Number(row['base_up']),
  down: Number(row['base_down']),
  flows: Number(row['base_flows']),
});

/** What was used in the hour that is being counted, by name; with the number of the dimension as both parameters. */
export const USED = `
SELECT name, SUM(up) AS up, SUM(down) AS down, SUM(flows) AS flows FROM (
  SELECT e.name, c.up - e.up AS up, c.down - e.down AS down, c.flows - e.flows AS flows
  FROM entries AS e JOIN counts AS c ON c.id = e.id
  WHERE e.dimension = ? AND (c.up, c.down, c.flows) <> (e.up, e.down, e.flows)
  UNION ALL
  SELECT name, up, down, flows FROM ended WHERE dimension = ?
) GROUP BY name`;

const ADDING = `ON CONFLICT DO UPDATE SET
  up = up + excluded.up, down = down + excluded.down, flows = flows + excluded.flows`;

function prepare(database: DatabaseSync) {
  const each = (sql: (unit: Unit) => string): Readonly<Record<Unit, StatementSync>> => ({
    hours: database.prepare(sql('hours')),
    days: database.prepare(sql('days')),
    months: database.prepare(sql('months')),
  });
  const entry = database.prepare('INSERT INTO entries VALUES (?, ?, ?, 0, 0, 0)');
  const counts = database.prepare('INSERT INTO counts VALUES (?, ?, ?, ?)');
  return {
    reader: database.prepare('SELECT * FROM reader'),
    setReader: database.prepare('UPDATE reader SET instance = ?, sequence = ?, hour = ?'),
    ids: database.prepare('SELECT id FROM entries'),
    setCounts: database.prepare('UPDATE counts SET up = ?, down = ?, flows = ? WHERE id = ?'),
    addEntry: (id: number, dimension: number, name: string | null, all: UsageCounts): void => {
      entry.run(id, dimension, name);
      counts.run(id, all.up, all.down, all.flows);
    },
    recorded: database.prepare(
      `SELECT e.dimension, e.name, e.up AS base_up, e.down AS base_down, e.flows AS base_flows,
       c.up, c.down, c.flows FROM entries AS e JOIN counts AS c ON c.id = e.id WHERE e.id = ?`,
    ),
    deleteEntry: database.prepare('DELETE FROM entries WHERE id = ?'),
    deleteCounts: database.prepare('DELETE FROM counts WHERE id = ?'),
    setBase: database.prepare('UPDATE entries SET up = ?, down = ?, flows = ? WHERE id = ?'),
    lowerBase: database.prepare(
      'UPDATE entries SET up = up - ?, down = down - ?, flows = flows - ? WHERE id = ?',
    ),
    beginHour: database.prepare(
      `UPDATE entries AS e SET up = c.up, down = c.down, flows = c.flows FROM counts AS c
       WHERE c.id = e.id AND (c.up, c.down, c.flows) <> (e.up, e.down, e.flows)`,
    ),
    vanished: database.prepare('SELECT up, down, flows FROM vanished WHERE dimension = ?'),
    addVanished: database.prepare(`INSERT INTO vanished VALUES (?, ?, ?, ?) ${ADDING}`),
    clearVanished: database.prepare('DELETE FROM vanished'),
    countEnded: database.prepare('SELECT COUNT(*) AS names FROM ended WHERE dimension = ?'),
    endedOf: database.prepare('SELECT * FROM ended WHERE dimension = ? ORDER BY up + down DESC'),
    addEnded: database.prepare(`INSERT INTO ended VALUES (?, ?, ?, ?, ?) ${ADDING}`),
    deleteEnded: database.prepare('DELETE FROM ended WHERE dimension = ? AND name = ?'),
    countHours: database.prepare(
      'SELECT COUNT(DISTINCT number) AS hours FROM hours WHERE number BETWEEN ? AND ?',
    ),
    clearEnded: database.prepare('DELETE FROM ended'),
    used: database.prepare(USED),
    findName: database.prepare('SELECT id FROM names WHERE dimension = ? AND name = ?'),
    addName: database.prepare('INSERT INTO names (dimension, name) VALUES (?, ?)'),
    dropNames: database.prepare(
      `DELETE FROM names WHERE id NOT IN
       (SELECT name FROM hours UNION SELECT name FROM days UNION SELECT name FROM months)`,
    ),
    add: each((unit) => `INSERT INTO ${unit} VALUES (?, ?, ?, ?, ?, ?) ${ADDING}`),
    least: each(
      (unit) =>
        `SELECT * FROM ${unit} WHERE number = ? AND dimension = ? AND name <> ?
         ORDER BY up + down DESC LIMIT -1 OFFSET ?`,
    ),
    remove: each((unit) => `DELETE FROM ${unit} WHERE number = ? AND dimension = ? AND name = ?`),
    before: each((unit) => `DELETE FROM ${unit} WHERE number < ?`),
  };
}
