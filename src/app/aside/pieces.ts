/** Items of a list that are received in one turn: some thousand small objects take a millisecond. */
const PIECE = 256;

/** The first of the messages that a value is sent in: all of it but its long lists. */
export interface FirstPiece {
  readonly value: unknown;
  /** The long lists in `value`, still empty. */
  readonly lists: readonly unknown[][];
}

/** Some more items of one of the lists. */
export interface NextPiece {
  readonly list: number;
  readonly items: readonly unknown[];
}

/**
 * A value of plain data in pieces, each of which the receiver deserialises quickly: a message is
 * deserialised at once, so a configuration of some megabytes would block everything else.
 *
 * The long lists are emptied for that, so the sender must not use the value afterwards.
 */
export class Pieces {
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

  /** Buffers of the first piece that no other one holds: those that can be moved with it. */
  movable(): ArrayBuffer[] {
    const held = buffersOf(this.#rest);
    return [...buffersOf(this.first)].filter((buffer) => !held.has(buffer));
  }
}

/** Lists that are too long to be received at once, except for those within such a list. */
function longLists(value: unknown, found = new Set<unknown[]>()): Set<unknown[]> {
  if (typeof value !== 'object' || value === null || ArrayBuffer.isView(value)) return found;
  if (Array.isArray(value) && value.length > PIECE) return found.add(value);
  for (const part of Object.values(value)) longLists(part, found);
  return found;
}

/**
 * The buffers of a value of plain data, each once. A buffer that is used in part, such as
 * the pool of small `Buffer`s, is not among them: the rest may be in use elsewhere.
 */
export function buffersOf(value: unknown, found = new Set<ArrayBuffer>()): Set<ArrayBuffer> {
  if (ArrayBuffer.isView(value)) {
    const { buffer, byteLength } = value;
    if (buffer instanceof ArrayBuffer && buffer.byteLength === byteLength) found.add(buffer);
  } else if (typeof value === 'object' && value !== null) {
    for (const part of Object.values(value)) buffersOf(part, found);
  }
  return found;
}
