import { type ByteSource, GeoFileError } from './geo-data.ts';
import { WireReader } from './wire-reader.ts';

/** Bytes of one read; many small entries fit in it. */
const WINDOW = 64 * 1024;
/** Tag of an entry: field 1 of the file, length-delimited. The file has no other field. */
const ENTRY_TAG = 0x0a;
/** The most bytes before the message of an entry: the tag, and its length as a varint of up to 5 bytes. */
const ENTRY_HEADER = 1 + 5;
/** Tag of `country_code`: field 1 of an entry, length-delimited. Generators write it first. */
const CODE_TAG = 0x0a;
const MAX_CODE = 127;

/**
 * Finds the messages of the entries with these codes (in lower case), by code; the first entry of a code counts.
 *
 * Walks over the whole file and thereby validates it, but reads only the beginning of each entry, and the
 * wanted ones completely: a file of 70 MB costs no more than the lists in use.
 *
 * @param codeField the field in which newer generators may repeat the code
 * @throws {GeoFileError} when the file does not consist of entries
 */
export async function findEntries(
  source: ByteSource,
  codes: ReadonlySet<string>,
  codeField: number,
): Promise<Map<string, Uint8Array>> {
  const found = new Map<string, Uint8Array>();
  for await (const { code, message } of walkEntries(source, codeField)) {
    if (codes.has(code) && !found.has(code)) found.set(code, await message());
  }
  return found;
}

/** An entry of a geo file: a list. */
export interface GeoEntry {
  /** The code in lower case; empty if the entry has none. */
  readonly code: string;
  /** Length of the entry's message in bytes. */
  readonly length: number;
  /** Reads the entry's message. */
  readonly message: () => Promise<Uint8Array>;
}

/**
 * Iterates over the entries of a file, in order. Holds one window of the file; messages are held only by the caller
 * that reads them.
 *
 * @param codeField the field in which newer generators may repeat the code
 * @throws {GeoFileError} when the file does not consist of entries
 */
export async function* walkEntries(
  source: ByteSource,
  codeField: number,
): AsyncGenerator<GeoEntry> {
  const window = new Window(source);
  for (let at = 0; at < source.size;) {
    const head = await window.at(at, ENTRY_HEADER);
    const { start, length } = entryAt(head, at, source.size);
    const first = await window.at(start, Math.min(length, 2 + MAX_CODE));
    let code = leadingCode(first, length);
    let message: Uint8Array | undefined;
    if (code === undefined) {
      // The code is not the first field of the entry.
      message = await source.read(start, length);
      code = codeOf(message, codeField);
    }
    const whole = message;
    yield { code, length, message: async () => whole ?? (await source.read(start, length)) };
    at = start + length;
  }
}

/** Returns the start and the length of the message of the entry at `at`. */
function entryAt(head: Uint8Array, at: number, size: number): { start: number; length: number } {
  const corrupt = (what: string): GeoFileError => new GeoFileError(`${what} at byte ${at}`);
  if (head[0] !== ENTRY_TAG) throw corrupt('no list begins');
  let length = 0;
  for (let i = 1; i < head.length; i++) {
    const byte = head[i] ?? 0;
    length += (byte & 0x7f) * 2 ** (7 * (i - 1));
    if (byte >= 0x80) continue;
    const start = at + i + 1;
    if (start + length > size) throw corrupt('the file ends in the middle of the list');
    return { start, length };
  }
  throw corrupt(
    head.length < ENTRY_HEADER ? 'the file ends in the middle of the list' : 'no list begins',
  );
}

/** Returns the code in lower case, if it is the first field of an entry. */
function leadingCode(head: Uint8Array, length: number): string | undefined {
  const size = head[1] ?? 0;
  if (head[0] !== CODE_TAG || size === 0 || size > MAX_CODE || 2 + size > length) return undefined;
  return Buffer.from(head.subarray(2, 2 + size))
    .toString()
    .toLowerCase();
}

/** Returns the code of an entry, in any position; empty when it has none. */
function codeOf(message: Uint8Array, codeField: number): string {
  let code = '';
  const reader = new WireReader(message);
  while (reader.next()) {
    if (reader.field === 1) code = reader.text() || code;
    else if (reader.field === codeField) code ||= reader.text();
  }
  return code.toLowerCase();
}

/** Reads ahead, so that adjacent small entries take one read. */
class Window {
  readonly #source: ByteSource;
  #bytes: Uint8Array = new Uint8Array(0);
  #start = 0;

  constructor(source: ByteSource) {
    this.#source = source;
  }

  /** Reads `length` bytes from a position, fewer at the end of the file. */
  async at(position: number, length: number): Promise<Uint8Array> {
    const wanted = Math.min(length, this.#source.size - position);
    const offset = position - this.#start;
    if (offset < 0 || offset + wanted > this.#bytes.length) {
      const size = Math.min(Math.max(WINDOW, wanted), this.#source.size - position);
      this.#bytes = await this.#source.read(position, size);
      this.#start = position;
    }
    const from = position - this.#start;
    return this.#bytes.subarray(from, from + wanted);
  }
}
