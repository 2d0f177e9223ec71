import { ImportError, type Draft } from '../protocols/forms/draft.ts';
import { entryOf, type ImportedEntry } from './entry.ts';
import { ForeignObject } from '../protocols/forms/foreign-object.ts';
import { notesOn, type KeyTable } from './verdicts.ts';

/** The reader of one program's entries. */
export interface EntryReader {
  /** The key that holds an entry's name. */
  readonly name: string;
  /** Verdicts on keys that `read` does not read. */
  readonly verdicts: KeyTable;
  /** Converts an entry. @throws {ImportError} */
  read(fields: ForeignObject): Draft;
  /** The entry's `address_family`. @throws {ImportError} */
  family(fields: ForeignObject): string | undefined;
}

/** Reads one entry of a list. An error skips the entry, not the document. */
export function readEntry(value: unknown, reader: EntryReader): ImportedEntry {
  return entryOf(nameOf(value, reader.name), () => {
    const fields = new ForeignObject(value);
    const family = reader.family(fields);
    const draft = { ...reader.read(fields), ...(family === undefined ? {} : { family }) };
    return { draft, notes: notesOn(fields, reader.verdicts) };
  });
}

/** The name of an entry of any type; empty if it has none. */
export function nameOf(value: unknown, key: string): string {
  try {
    return new ForeignObject(value).text(key) ?? '';
  } catch (error) {
    if (error instanceof ImportError) return '';
    throw error;
  }
}
