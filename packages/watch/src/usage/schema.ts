import { closeSync, openSync } from 'node:fs';
import { DatabaseSync } from 'node:sqlite';
import { codeOf, messageOf, WeirError } from '@weir/base';
import { USAGE_DIMENSIONS, type UsageDimension } from '@weir/proxy/tracker';
import { UNITS } from './periods.ts';

/** Marks the file as one of this program (`PRAGMA application_id`): "WEIR". */
const APPLICATION = 0x57_45_49_52;

/** Version of the tables (`PRAGMA user_version`). */
const VERSION = 1;

/** Only the owner may read who used how much. */
const MODE = 0o600;

/** Milliseconds to wait for another process that writes. */
const BUSY_MS = 5_000;

/** The number of a dimension in the database. */
export const numberOfDimension = (by: UsageDimension): number => USAGE_DIMENSIONS.indexOf(by);

/** The id in `names` of usage of which the name was not kept. */
export const OTHER = 0;

const COUNTS = 'up INTEGER NOT NULL, down INTEGER NOT NULL, flows INTEGER NOT NULL';

/*
 * `reader` has one row: which process was read, up to which report, and the hour that is being counted.
 * `entries` are the entries of that process: their names, and their counts when the hour began. `counts` has the
 * counts as last read; it is narrow, since most of it is written every second. The entry of what has no entry in the
 * process has the id -1 - dimension and no name.
 * `vanished` sums up what was recorded of entries that the process has removed, by dimension: the process counts it with the others.
 * `ended` has what entries that are gone have used in the hour that is being counted.
 * `hours`, `days` and `months` have the sums of hours that were counted, in each of the three.
 */
const TABLES = `
CREATE TABLE reader (
  instance TEXT NOT NULL, sequence INTEGER NOT NULL, hour INTEGER NOT NULL
);
INSERT INTO reader VALUES ('', 0, 0);
CREATE TABLE entries (
  id INTEGER PRIMARY KEY, dimension INTEGER NOT NULL, name TEXT, ${COUNTS}
);
CREATE TABLE counts (
  id INTEGER PRIMARY KEY, ${COUNTS}
);
CREATE TABLE vanished (
  dimension INTEGER PRIMARY KEY, ${COUNTS}
);
CREATE TABLE ended (
  dimension INTEGER NOT NULL, name TEXT NOT NULL, ${COUNTS},
  PRIMARY KEY (dimension, name)
) WITHOUT ROWID;
CREATE TABLE names (
  id INTEGER PRIMARY KEY, dimension INTEGER NOT NULL, name TEXT NOT NULL,
  UNIQUE (dimension, name)
);
${UNITS.map(
  (unit) => `CREATE TABLE ${unit} (
  number INTEGER NOT NULL, dimension INTEGER NOT NULL, name INTEGER NOT NULL, ${COUNTS},
  PRIMARY KEY (number, dimension, name)
) WITHOUT ROWID;`,
).join('\n')}
`;

/** The database of usage cannot be used; the message names the file. */
export class UsageDatabaseError extends WeirError {
  constructor(
    path: string,
    problem: string,
    options: ErrorOptions & { readonly hint?: string } = {},
  ) {
    super('usage_database', `${path}: ${problem}`, options);
  }
}

/** Opens the database for a recorder, and creates it if it is missing. @throws {UsageDatabaseError} */
export function openForWriting(path: string): DatabaseSync {
  return opened(path, () => {
    create(path);
    const database = new DatabaseSync(path, { timeout: BUSY_MS });
    return checked(database, () => {
      if (pragma(database, 'user_version') === 0) {
        database.exec(`PRAGMA journal_mode = WAL; BEGIN IMMEDIATE`);
        // Another recorder may have done it meanwhile.
        if (pragma(database, 'user_version') === 0) {
          if (tablesIn(database) > 0) throw notOurs(path);
          database.exec(
            `${TABLES} PRAGMA application_id = ${APPLICATION}; PRAGMA user_version = ${VERSION};`,
          );
        }
        database.exec('COMMIT');
      }
      checkVersion(database, path);
      // A transaction outlasts a failure of power, too: the process that was read has lost its counts then.
      database.exec('PRAGMA synchronous = FULL; PRAGMA journal_size_limit = 16777216');
      const found = database.prepare('PRAGMA quick_check(1)').get()?.['quick_check'];
      if (found !== 'ok') throw new UsageDatabaseError(path, `is damaged: ${String(found)}`);
    });
  });
}

/** Opens an existing database for queries. @throws {UsageDatabaseError} */
export function openForReading(path: string): DatabaseSync {
  return opened(path, () => {
    const database = new DatabaseSync(path, { readOnly: true, timeout: BUSY_MS });
    return checked(database, () => checkVersion(database, path));
  });
}

function opened(path: string, open: () => DatabaseSync): DatabaseSync {
  try {
    return open();
  } catch (error) {
    if (error instanceof UsageDatabaseError) throw error;
    throw databaseError(path, error);
  }
}

/** Closes a database that fails its checks. */
function checked(database: DatabaseSync, check: () => void): DatabaseSync {
  try {
    check();
    return database;
  } catch (error) {
    database.close();
    throw error;
  }
}

/** Returns an error that names the file for one of SQLite or the system. */
export const databaseError = (path: string, error: unknown): UsageDatabaseError =>
  new UsageDatabaseError(path, messageOf(error), { cause: error });

/** Creates an empty file that only its owner can read, unless there is one. */
function create(path: string): void {
  try {
    closeSync(openSync(path, 'wx', MODE));
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
}

function checkVersion(database: DatabaseSync, path: string): void {
  if (pragma(database, 'application_id') !== APPLICATION) throw notOurs(path);
  const version = pragma(database, 'user_version');
  if (version > VERSION) {
    throw new UsageDatabaseError(path, `was made by a newer Weir (version ${version})`);
  }
}

const notOurs = (path: string): UsageDatabaseError =>
  new UsageDatabaseError(path, 'is not a database of weir usage');

function pragma(database: DatabaseSync, name: string): number {
  const value = database.prepare(`PRAGMA ${name}`).get()?.[name];
  return typeof value === 'number' ? value : 0;
}

function tablesIn(database: DatabaseSync): number {
  return Number(database.prepare('SELECT COUNT(*) AS tables FROM sqlite_schema').get()?.['tables']);
}
