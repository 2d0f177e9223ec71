import type { RouteView } from '../../config/route-view.ts';
import { printable } from '../../printable.ts';

/** The meaning of a name on the controller. */
export type Named =
  /** mihomo's group of all targets and groups; its pick is that of the default route. */
  | { readonly kind: 'global' }
  | { readonly kind: 'default' }
  | { readonly kind: 'group'; readonly name: string }
  /** An outbound, a node, a balancer or a built-in outbound. */
  | { readonly kind: 'target'; readonly name: string };

export const GLOBAL = 'GLOBAL';

/** Name of the group for the default route, as in the API. */
const DEFAULT = 'default';

/**
 * The names of groups and targets on the controller, which has one namespace for both where a configuration has two: a
 * target with the name of a group gets the suffix ` (outbound)`.
 */
export class ClashNames {
  readonly #named = new Map<string, Named>();
  readonly #groups = new Map<string, string>();
  readonly #targets = new Map<string, string>();

  constructor({ groups, targets }: Pick<RouteView, 'groups' | 'targets'>) {
    this.#claim(GLOBAL, 'group', { kind: 'global' });
    this.#claim(DEFAULT, 'group', { kind: 'default' });
    for (const { name } of groups) {
      // Of two groups with the same name the configuration uses the first.
      if (this.#groups.has(name)) continue;
      this.#groups.set(name, this.#claim(name, 'group', { kind: 'group', name }));
    }
    for (const { name } of targets) {
      if (this.#targets.has(name)) continue;
      this.#targets.set(name, this.#claim(name, 'outbound', { kind: 'target', name }));
    }
  }

  /** The meaning of a client's name; `undefined` for an unknown one. */
  find(name: string): Named | undefined {
    return this.#named.get(name);
  }

  /** All names, groups first. */
  names(): Iterable<readonly [string, Named]> {
    return this.#named;
  }

  get default(): string {
    return DEFAULT;
  }

  group(name: string): string {
    return this.#groups.get(name) ?? printable(name);
  }

  target(name: string): string {
    return this.#targets.get(name) ?? printable(name);
  }

  #claim(name: string, suffix: string, named: Named): string {
    let free = printable(name);
    while (this.#named.has(free)) free += ` (${suffix})`;
    this.#named.set(free, named);
    return free;
  }
}
