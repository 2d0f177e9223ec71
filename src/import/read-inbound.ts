import { ImportError } from '../protocols/forms/draft.ts';
import { ForeignObject } from '../protocols/forms/foreign-object.ts';
import { nameOf } from './read-entry.ts';
import type { InboundDraft, InboundEntry } from './routing.ts';
import { notesOn, type KeyTable } from './verdicts.ts';

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
