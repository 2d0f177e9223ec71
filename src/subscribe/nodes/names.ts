import { replaceUnprintable } from '../../printable.ts';

/** The longest name that is taken over, in UTF-16 units. */
const LONGEST_NAME = 80;

/** Names that mean something else where a target is named. */
const RESERVED: readonly string[] = ['direct', 'blackhole', 'default'];

/** Gives the nodes of a source names that nothing else has. */
export class NodeNames {
  readonly #source: string;
  readonly #others: ReadonlySet<string>;
  readonly #own: Set<string>;
  /** The next number to try, by the text before it. */
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
   * A name for a node that its source calls `there`: the same where it is free, with the name of the source
   * behind it where another has it, and with a number where this source has it already.
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

/** A foreign name on one line, without control characters and of a bounded length. */
const clean = (text: string): string =>
  replaceUnprintable(text.toWellFormed(), () => ' ')
    .trim()
    .slice(0, LONGEST_NAME)
    .toWellFormed()
    .trim();
