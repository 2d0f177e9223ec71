import { ProtocolError } from '@weir/io';

/*
 * Domain names on the wire (RFC 1035 §3.1, §4.1.4) and as text: in lower case, without a final dot, empty for the
 * root. A dot or a backslash within a label has a backslash before it (§5.1).
 */

const LONGEST_LABEL = 63;
const LONGEST_NAME = 255;
/** The two top bits of a pointer. */
const POINTER = 0xc0;
/** Pointers within one name: more than the labels that a name can have. */
const MAX_POINTERS = 128;

const SPECIAL = /[.\\]/g;

/** Returns the end of a name that begins at `at`: after its last label or its first pointer. */
export function nameEnd(message: Uint8Array, at: number): number {
  let next = at;
  for (;;) {
    const length = message[next] ?? 0;
    if (length === 0) return next + 1;
    if (length > LONGEST_LABEL) return next + 2;
    next += 1 + length;
  }
}

/** A name and its size. */
interface KnownName {
  readonly text: string;
  /** Size in bytes without compression. */
  readonly size: number;
  readonly pointers: number;
}

const ROOT: KnownName = { text: '', size: 1, pointers: 0 };

/** Reads the names of one message: the end of a name that others point to is read once. */
export class NameReader {
  readonly #message: Buffer;
  readonly #known = new Map<number, KnownName>();

  constructor(message: Buffer) {
    this.#message = message;
  }

  /**
   * Reads the name that begins at `at`, which is within the message.
   * @throws {ProtocolError} when the name is malformed.
   */
  at(at: number): string {
    return this.#read(at, 0).text;
  }

  /**
   * Reads a name.
   * @param depth pointers that led to it.
   */
  #read(start: number, depth: number): KnownName {
    const message = this.#message;
    let [at, text] = [start, ''];
    for (;;) {
      const length = message[at];
      if (length === undefined) throw malformed('a truncated name');
      if (length === 0) return joined(text, at - start, ROOT);
      if (length >= POINTER) return joined(text, at - start, this.#pointedAt(at, depth));
      const end = at + 1 + length;
      if (length > LONGEST_LABEL || end > message.length || end - start >= LONGEST_NAME) {
        throw malformed('a name that is too long');
      }
      const label = message.toString('latin1', at + 1, end).toLowerCase();
      text += (text === '' ? '' : '.') + escaped(label);
      at = end;
    }
  }

  /** Reads the name that the pointer at `at` refers to. */
  #pointedAt(at: number, depth: number): KnownName {
    const target = (((this.#message[at] ?? 0) & 0x3f) << 8) | (this.#message[at + 1] ?? 0);
    if (target >= at) throw malformed('a pointer that does not lead back');
    if (depth >= MAX_POINTERS) throw malformed('a name with too many pointers');
    const known = this.#known.get(target);
    if (known) return known;
    const { text, size, pointers } = this.#read(target, depth + 1);
    const read = { text, size, pointers: pointers + 1 };
    this.#known.set(target, read);
    return read;
  }
}

/**
 * Prepends labels to a name.
 * @param size bytes of the labels of `text`.
 */
function joined(text: string, size: number, rest: KnownName): KnownName {
  if (size + rest.size > LONGEST_NAME) throw malformed('a name that is too long');
  if (rest.pointers > MAX_POINTERS) throw malformed('a name with too many pointers');
  const isRoot = rest.text === '' || text === '';
  return {
    text: isRoot ? text + rest.text : `${text}.${rest.text}`,
    size: size + rest.size,
    pointers: rest.pointers,
  };
}

const escaped = (label: string): string =>
  label.includes('.') || label.includes('\\') ? label.replace(SPECIAL, '\\$&') : label;

const malformed = (what: string): ProtocolError =>
  new ProtocolError(`the DNS answer is malformed: ${what}`);

/** Encodes a name without compression. @param name a name of a `NameReader`, or a canonical one. */
export function encodeName(name: string): Buffer {
  const labels = name === '' ? [] : name.match(/(?:[^.\\]|\\.)+/gs);
  const pieces = (labels ?? []).map((label) => {
    const bytes = Buffer.from(label.replaceAll(/\\(.)/gs, '$1'), 'latin1');
    return Buffer.concat([Buffer.of(bytes.length), bytes]);
  });
  return Buffer.concat([...pieces, Buffer.of(0)]);
}
