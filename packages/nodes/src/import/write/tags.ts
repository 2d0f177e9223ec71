import { replaceUnprintable } from '@weir/base/printable';
import type { Draft } from '@weir/proxy/protocols/forms';

/** Maximum length of a tag or name, in UTF-16 code units. */
const LONGEST = 80;

/** Makes names unique by appending numbers. */
export class UniqueNames {
  readonly #taken: Set<string>;
  /** Number of names derived from the same text. */
  readonly #counts = new Map<string, number>();

  constructor(taken: Iterable<string> = []) {
    this.#taken = new Set(taken);
  }

  /**
   * A unique name from a text, on one line, without control characters, and shortened. @param fallback used if the text
   * is empty
   */
  next(text: string, fallback: string): string {
    const plain = plainName(text);
    const base = (plain === '' ? fallback : plain).slice(0, LONGEST).toWellFormed();
    let count = this.#counts.get(base) ?? 0;
    let name: string;
    do name = count++ === 0 ? base : `${base} ${count}`;
    while (this.#taken.has(name));
    this.#counts.set(base, count);
    this.#taken.add(name);
    return name;
  }
}

const plainName = (text: string): string =>
  replaceUnprintable(text.toWellFormed(), () => ' ').trim();

/** Gives each draft a unique tag, derived from its name. */
export class Tags {
  readonly #names = new UniqueNames();

  next({ name, protocol, server, port }: Draft): string {
    const place = server === undefined ? protocol : `${server}:${port}`;
    const base = [name, place].find(
      (text) => plainName(text) !== '' && isFree(plainName(text), protocol),
    );
    return this.#names.next(base ?? '', `${protocol} outbound`);
  }

  /** A tag for a balancer, unique among outbounds and balancers. */
  nextBalancer(name: string): string {
    return this.#names.next(isFree(plainName(name), 'balancer') ? name : '', 'balancer');
  }
}

/** Whether a tag does not clash with a built-in outbound of another protocol. */
const isFree = (tag: string, protocol: string): boolean =>
  (tag !== 'direct' || protocol === 'freedom') && (tag !== 'blackhole' || protocol === 'blackhole');
