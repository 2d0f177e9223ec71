import { replaceUnprintable } from '../../printable.ts';

/** Maximum length of a name, in UTF-16 code units. */
const LONGEST_NAME = 80;

/** Names with a special meaning as a target. */
const RESERVED: readonly string[] = ['direct', 'blackhole', 'default'];

/** Generates unique names for the nodes of a source. */
export class NodeNames {
  readonly #source: string;
  readonly #others: ReadonlySet<string>;
  readonly #own: Set<string>;
  /** The next number to try, by the name before it. */
  readonly #numbers = new Map<string, number>();

  /**
   * @param others names of outbounds, of balancers, and of nodes that are not of this source
   * @param own names that nodes of this source keep
   */
  constructor(source: string, others: Iterable<string>, own: Iterable<string>) {
    this.#source = source;
    this.#others = new Set([...RESERVED, ...others]);
    this.#own = new Set(own);
  }

  /**
   * Generates the name of a node that its source calls `there`: the same name if it is free, with the name of the
   * source appended if another node has it, and with a number if this source has used it already.
   */
  next(there: string): string {
    const cleaned = clean(there) || this.#source;
    const base = this.#others.has(cleaned) ? `${cleaned} (${this.#source})` : cleaned;
    let name = base;
    let number = this.#numbers.get(base) ?? 2;
    while (this.#own.has(name) || this.#others.has(name)) name = `${base} ${number++}`;
    this.#numbers.set(base, number);
    this.#own.add(name);
    return name;
  }
}

/** An untrusted name on one line, without control characters and of a limited length. */
const clean = (text: string): string =>
  replaceUnprintable(text.toWellFormed(), () => ' ')
    .trim()
    .slice(0, LONGEST_NAME)
    .toWellFormed()
    .trim();
