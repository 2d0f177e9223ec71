import { entryOf, ImportError, type Draft, type ImportedEntry } from './draft.ts';
import { ForeignObject } from './foreign-object.ts';
import { notesOn, type KeyTable } from './verdicts.ts';

/** What an entry is made of beside the draft itself. */
export interface EntryReader {
  /** The key of an entry's name. */
  readonly name: string;
  /** What becomes of the keys that `read` does not read. */
  readonly verdicts: KeyTable;
  /** @throws {ImportError} */
  read(fields: ForeignObject): Draft;
  /** Its `address_family`. @throws {ImportError} */
  family(fields: ForeignObject): string | undefined;
}

/** One entry of a list; whatever is wrong with it ends the entry and not the document. */
export function readEntry(value: unknown, reader: EntryReader): ImportedEntry {
  return entryOf(nameOf(value, reader.name), () => {
    const fields = new ForeignObject(value);
    const family = reader.family(fields);
    const draft = { ...reader.read(fields), ...(family === undefined ? {} : { family }) };
    return { draft, notes: notesOn(fields, reader.verdicts) };
  });
}

/** The name of an entry of any type; empty for one without a name. */
export function nameOf(value: unknown, key: string): string {
  try {
    return new ForeignObject(value).text(key) ?? '';
  } catch (error) {
    if (error instanceof ImportError) return '';
    throw error;
  }
}
