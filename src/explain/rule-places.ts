import type { ConfigLocation } from '../config/errors.ts';
import type { MergedConfig } from '../config/merge.ts';
import type { Places } from '../config/places.ts';

/** The places of a configuration's rules. */
export class RulePlaces {
  readonly #merged: MergedConfig;
  readonly #places: Places;

  constructor(merged: MergedConfig, places: Places) {
    this.#merged = merged;
    this.#places = places;
  }

  /** The place of a rule; for `undefined`, of the default route. */
  of(rule: number | undefined): ConfigLocation | undefined {
    const { route, outbound } = this.#merged.file;
    const span =
      rule === undefined
        ? (route?.default ?? outbound[0]?.value.tag)?.span
        : route?.rule[rule]?.span;
    return span && this.#places.locate(span.start);
  }

  /** The route group of a rule, whose rules follow those of the configuration itself. */
  groupOf(rule: number | undefined): string | undefined {
    if (rule === undefined) return undefined;
    const { file, groups } = this.#merged;
    const own = groups.reduce((left, { rules }) => left - rules, file.route?.rule.length ?? 0);
    let behind = own;
    return groups.find((group) => rule >= own && rule < (behind += group.rules))?.name;
  }
}
