import { ImportError, type Draft } from '../protocols/forms/draft.ts';
import { entryOf, type ImportedEntry } from './entry.ts';
import { ForeignObject } from '../protocols/forms/foreign-object.ts';
import { notesOn, type KeyTable } from './verdicts.ts';
import type { InboundDraft, InboundEntry } from './routing.ts';

/** A converted inbound: one or more listeners, with notes on settings that they lack. */
export interface InboundReading {
  readonly drafts: readonly InboundDraft[];
  readonly notes?: readonly string[];
}

/** Reads one inbound. An error skips the inbound, not the document. */
export function readInbound(
  value: unknown,
  source: string,
  verdicts: KeyTable,
  read: (fields: ForeignObject) => InboundReading,
): InboundEntry {
  try {
    const fields = new ForeignObject(value);
    const { drafts, notes = [] } = read(fields);
    return { source, drafts, notes: [...notes, ...notesOn(fields, verdicts)] };
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return { source, skipped: error.message };
  }
}

/** The objects of a list. @throws {ImportError} for any other value in it */
export const objectsOf = (list: readonly unknown[]): readonly ForeignObject[] =>
  list.map((each) => new ForeignObject(each));

/** The ports that inbounds listen on. @param key the key of the port */
export const portsOf = (inbounds: readonly unknown[], key: string): Set<number> =>
  new Set(inbounds.map((each) => Number(nameOf(each, key))));

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
