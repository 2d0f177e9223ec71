import { quoted } from '@weir/base/printable';
import { ImportError, type Draft } from '@weir/proxy/protocols/forms';
import { ForeignObject } from '@weir/proxy/protocols/forms';
import { bounded, type ImportedEntry, type InboundDraft, type InboundEntry } from './routing.ts';
import { notesOn, type KeyTable } from './verdicts.ts';

/** A draft, with notes on settings that it lacks. */
export interface Reading {
  readonly draft: Draft;
  readonly notes: readonly string[];
}

/** Converts an entry by `work`; an ImportError becomes the reason for skipping it. */
export function entryOf(name: string, work: () => Reading): ImportedEntry {
  try {
    const { draft, notes } = work();
    if (isBroken(draft)) throw new ImportError('its address, its login or a path is not UTF-8');
    const own = [
      ...(draft.notes ?? []),
      ...(draft.stream?.notes ?? []),
      ...pinNotes(draft),
      ...notes,
    ];
    return { draft, notes: isInsecure(draft) ? [...own, ANY_CERTIFICATE] : own };
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return { name, skipped: error.message };
  }
}

/** Whether a value that the server compares contains U+FFFD, which stands for lost bytes; names may contain it. */
const isBroken = ({ server, stream, settings }: Draft): boolean =>
  JSON.stringify([server, stream, settings]).includes('\uFFFD');

const ANY_CERTIFICATE =
  'any certificate is accepted (allow_insecure), as the document says: anyone on the path can read the traffic';

const isInsecure = ({ stream, settings }: Draft): boolean =>
  stream?.tls?.['allow_insecure'] === true || settings['allow_insecure'] === true;

/** The key by which the document pins a server's certificate to a hash. */
export const pinOf = ({ pinnedBy, stream }: Draft): string | undefined =>
  pinnedBy ?? stream?.pinnedBy;

function pinNotes(draft: Draft): readonly string[] {
  const pin = pinOf(draft);
  if (pin === undefined) return [];
  const authority = draft.stream?.tls?.['ca_file'] ?? draft.settings['ca_file'];
  const advice =
    authority === undefined
      ? '; write a self-signed one to a PEM file, and name that as ca_file'
      : '';
  return [
    `${quoted(pin)} is not carried over: Weir cannot compare a certificate with a hash, and verifies its chain and its name instead${advice}`,
  ];
}

/** The lines of a document without surrounding white space, one at a time: readers stop at their limits. */
export function* trimmedLines(text: string): Generator<string, undefined> {
  const unix = text.includes('\r') ? text.replaceAll(/\r\n?/g, '\n') : text;
  for (let from = 0; from <= unix.length;) {
    const found = unix.indexOf('\n', from);
    const end = found < 0 ? unix.length : found;
    yield unix
      .slice(from, end)
      .replace(/^\u200B+/, '')
      .trim();
    from = end + 1;
  }
}

/** A converted inbound: one or more listeners, with notes on settings that they lack. */
export interface InboundReading {
  readonly drafts: readonly InboundDraft[];
  readonly notes?: readonly string[];
}

/** Makes the entry of one inbound. An ImportError skips the inbound, not the document. */
export function inboundEntry(source: string, read: () => InboundReading): InboundEntry {
  try {
    const { drafts, notes = [] } = read();
    return { source, drafts, notes };
  } catch (error) {
    if (!(error instanceof ImportError)) throw error;
    return { source, skipped: error.message };
  }
}

/** Reads one inbound, and notes the keys that `read` does not read. */
export const readInbound = (
  value: unknown,
  source: string,
  verdicts: KeyTable,
  read: (fields: ForeignObject) => InboundReading,
): InboundEntry =>
  inboundEntry(source, () => {
    const fields = new ForeignObject(value);
    const { drafts, notes = [] } = read(fields);
    return { drafts, notes: [...notes, ...notesOn(fields, verdicts)] };
  });

/** The objects of a list. @throws {ImportError} for any other value in it */
export const objectsOf = (list: readonly unknown[]): readonly ForeignObject[] =>
  list.map((each) => new ForeignObject(each));

/** The ports that inbounds listen on. @param key the key of the port */
export const portsOf = (inbounds: readonly unknown[], key: string): Set<number> =>
  new Set(inbounds.map((each) => Number(nameOf(each, key))));

/** Reads the servers of a document. @throws {ImportError} when there are too many */
export const readEntries = (
  values: readonly unknown[],
  reader: EntryReader,
): readonly ImportedEntry[] => bounded('servers', values).map((each) => readEntry(each, reader));

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
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) return '';
  const name: unknown = (value as Readonly<Record<string, unknown>>)[key];
  return ['string', 'number', 'boolean'].includes(typeof name) ? String(name) : '';
}
