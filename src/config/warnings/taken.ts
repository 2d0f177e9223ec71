import type { Cidr } from '../../ip/cidr.ts';
import { formatIP, parseIP } from '../../net/addresses/address.ts';
import type { PortRangeSpec } from '../../spec.ts';
import { suffixesOf } from '../values/matchers.ts';

/** Single words, each with the first rule that matches it. */
export class TakenWords {
  readonly #rules = new Map<string, number>();

  take(word: string, rule: number): void {
    if (!this.#rules.has(word)) this.#rules.set(word, rule);
  }

  has(word: string): boolean {
    return this.#rules.has(word);
  }

  coverOf(word: string): number | undefined {
    return this.#rules.get(word);
  }
}

/** Domains, each including its subdomains. */
export class TakenNames {
  readonly #suffixes = new Map<string, number>();

  takeSuffix(name: string, rule: number): void {
    // An empty entry, or one with a leading dot, matches nothing.
    if (name === '' || name.startsWith('.')) return;
    if (!this.#suffixes.has(name)) this.#suffixes.set(name, rule);
  }

  coverOf(name: string): number | undefined {
    for (const suffix of suffixesOf(name)) {
      const rule = this.#suffixes.get(suffix);
      if (rule !== undefined) return rule;
    }
    return undefined;
  }
}

/** Networks, each including its subnets. */
export class TakenNetworks {
  readonly #rules = new Map<string, number>();
  /** The prefix lengths in use, by address length in bits; few in practice. */
  readonly #prefixes = new Map<number, Set<number>>();

  take({ address, prefix }: Cidr, rule: number): void {
    const bytes = parseIP(address);
    if (!bytes) return;
    const key = keyOf(bytes, prefix);
    if (this.#rules.has(key)) return;
    this.#rules.set(key, rule);
    const width = bytes.length * 8;
    const prefixes = this.#prefixes.get(width);
    if (prefixes) prefixes.add(prefix);
    else this.#prefixes.set(width, new Set([prefix]));
  }

  coverOf({ address, prefix }: Cidr): number | undefined {
    const bytes = parseIP(address);
    if (!bytes) return undefined;
    for (const shorter of this.#prefixes.get(bytes.length * 8) ?? []) {
      const rule = shorter <= prefix ? this.#rules.get(keyOf(bytes, shorter)) : undefined;
      if (rule !== undefined) return rule;
    }
    return undefined;
  }
}

/** Returns the network of an address, as a key. */
function keyOf(address: Uint8Array, prefix: number): string {
  const network = address.map((byte, index) => {
    const bits = Math.min(8, Math.max(0, prefix - index * 8));
    return byte & (0xff00 >> bits) & 0xff;
  });
  return `${formatIP(network)}/${prefix}`;
}

/** Ports, each with the first rule that matches it. */
export class TakenPorts {
  readonly #rules = new Map<number, number>();
  /** Union-find with path compression: for each taken port the next one that may be free. */
  readonly #next = new Map<number, number>();

  take({ low, high }: PortRangeSpec, rule: number): void {
    for (let port = this.#free(low); port <= high; port = this.#free(port)) {
      this.#next.set(port, port + 1);
      this.#rules.set(port, rule);
    }
  }

  /** Returns the rule of the first port, if rules match all ports of the range. */
  coverOf({ low, high }: PortRangeSpec): number | undefined {
    return this.#free(low) > high ? this.#rules.get(low) : undefined;
  }

  /** Returns the first free port from `port` on; compresses the path for the next search. */
  #free(port: number): number {
    let end = port;
    for (let next = this.#next.get(end); next !== undefined; next = this.#next.get(end)) end = next;
    for (let at = port; at !== end;) {
      const next = this.#next.get(at) ?? end;
      this.#next.set(at, end);
      at = next;
    }
    return end;
  }
}
