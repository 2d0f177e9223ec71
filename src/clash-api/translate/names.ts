import type { RouteView } from '../../config/route-view.ts';
import { printable } from '../../printable.ts';

/** What a name of the controller stands for. */
export type Named =
  /** All targets and groups, as mihomo has it; its pick is that of the default route. */
  | { readonly kind: 'global' }
  | { readonly kind: 'default' }
  | { readonly kind: 'group'; readonly name: string }
  /** An outbound, a node, a balancer or a built-in. */
  | { readonly kind: 'target'; readonly name: string };

export const GLOBAL = 'GLOBAL';

/** The group for the default route, which has this name in the API too. */
const DEFAULT = 'default';

/**
 * The names of groups and targets on the controller, which has one namespace for both where a configuration has
 * two: a target with the name of a group gets ` (outbound)` behind it.
 */
export class ClashNames {
  readonly #named = new Map<string, Named>();
  readonly #groups = new Map<string, string>();
  readonly #targets = new Map<string, string>();

  constructor({ groups, targets }: Pick<RouteView, 'groups' | 'targets'>) {
    this.#claim(GLOBAL, 'group', { kind: 'global' });
    this.#claim(DEFAULT, 'group', { kind: 'default' });
    for (const { name } of groups) {
      // Of two with one name the configuration knows the first.
      if (this.#groups.has(name)) continue;
      this.#groups.set(name, this.#claim(name, 'group', { kind: 'group', name }));
    }
    for (const { name } of targets) {
      if (this.#targets.has(name)) continue;
      this.#targets.set(name, this.#claim(name, 'outbound', { kind: 'target', name }));
    }
  }

  /** What a client's name stands for; `undefined` for an unknown one. */
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
