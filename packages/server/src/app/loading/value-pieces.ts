/** Maximum number of a list's items per message: deserialising a few thousand small objects takes a millisecond. */
const PIECE = 256;

/** The first message of a value: the value without the items of its long lists. */
export interface FirstPiece {
  readonly value: unknown;
  /** The long lists of `value`, still empty. */
  readonly lists: readonly unknown[][];
}

/** Further items of one of the lists. */
export interface NextPiece {
  readonly list: number;
  readonly items: readonly unknown[];
}

/**
 * Splits a value of plain data into messages that the receiver deserialises quickly: each message is deserialised
 * without interruption, so a configuration of several megabytes would block everything else.
 *
 * The long lists are emptied in the process, so the sender must not use the value afterwards.
 */
export class ValueSplitter {
  readonly first: FirstPiece;
  readonly #rest: { readonly list: number; readonly items: unknown[] }[];
  #at = 0;

  constructor(value: unknown) {
    const lists: unknown[][] = [];
    this.#rest = [];
    for (const list of longLists(value)) {
      this.#rest.push({ list: lists.length, items: list.splice(0) });
      lists.push(list);
    }
    this.first = { value, lists };
  }

  /** The next piece; `undefined` after the last. */
  next(): NextPiece | undefined {
    const [source] = this.#rest;
    if (!source) return undefined;
    const { list, items } = source;
    const piece = { list, items: items.slice(this.#at, this.#at + PIECE) };
    this.#at += PIECE;
    if (this.#at >= items.length) {
      this.#rest.shift();
      this.#at = 0;
    }
    return piece;
  }

  /** Buffers of the first piece that no other piece refers to, and that can be transferred with it. */
  transferable(): ArrayBuffer[] {
    const held = buffersOf(this.#rest);
    return [...buffersOf(this.first)].filter((buffer) => !held.has(buffer));
  }
}

/** Reassembles the value of a ValueSplitter. */
export class ValueJoiner {
  readonly #first: FirstPiece;

  constructor(first: FirstPiece) {
    this.#first = first;
  }

  /** Whether `value` is complete without any further piece. */
  get isComplete(): boolean {
    return this.#first.lists.length === 0;
  }

  add({ list, items }: NextPiece): void {
    this.#first.lists[list]?.push(...items);
  }

  get value(): unknown {
    return this.#first.value;
  }
}

/** The lists that are too long for one message, except for those within such a list. */
function longLists(value: unknown, found = new Set<unknown[]>()): Set<unknown[]> {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return found;
  if (Array.isArray(value) && value.length > PIECE) return found.add(value);
  for (const part of Object.values(value)) longLists(part, found);
  return found;
}

/**
 * The distinct buffers of a value of plain data. A partly used buffer, such as the pool of small `Buffer`s, is left
 * out: the rest may be in use elsewhere.
 */
function buffersOf(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteLength } = value;
    if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) found.add(buffer);
  } else if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) buffersOf(part, found);
  }
  return found;
}
