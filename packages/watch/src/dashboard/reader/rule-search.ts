import { basename } from 'node:path';
import { LRUCache } from 'lru-cache';
import type { ConfigLocation } from '@weir/config';
import { MATCHERS } from '@weir/proxy/router';
import { matcherTexts } from '@weir/proxy/explain';
import type { LoadedRoutes, RuleWarning } from '@weir/nodes/explain';
import type { RuleSpec, Spec } from '@weir/proxy/spec';
import type { MatcherText, TargetText } from '../rules/view.ts';
import type { RuleFacts, RulesFound, RulesWanted } from './file-requests.ts';

/** Maximum number of entries of a matcher in a row. */
const SHOWN_ENTRIES = 3;
/** Maximum number of characters of an entry in a row; a pattern may be longer. */
const LONGEST_ENTRY = 120;
/** Maximum number of members of a balancer in a row. */
const SHOWN_MEMBERS = 8;
/** Maximum number of searches whose results are cached, for further windows of the same search. */
const KEPT_SEARCHES = 4;

const BY_INDEX = /^rule:(\d{1,9})$/;

/** Searches the rules of a configuration, and returns windows of the matching ones. */
export class RuleSearch {
  readonly #routes: LoadedRoutes;
  readonly #warnings: ReadonlyMap<number, RuleWarning>;
  /** Indexes of the matching rules, by search. */
  readonly #found = new LRUCache<string, readonly number[]>({ max: KEPT_SEARCHES });

  constructor(routes: LoadedRoutes, warnings: ReadonlyMap<number, RuleWarning>) {
    this.#routes = routes;
    this.#warnings = warnings;
  }

  window({ search, first, count, dead }: RulesWanted): Omit<RulesFound, 'version'> {
    const { spec, places } = this.#routes;
    const found = this.#matching(search, dead);
    const start = Math.max(0, Math.min(first, found.length - count));
    return {
      total: spec.route.rules.length,
      matching: found.length,
      first: start,
      rows: found.slice(start, start + count).map((rule) => this.#row(rule)),
      fallback: {
        place: shortPlace(places.of(undefined)),
        target: targetText(spec, spec.route.default),
      },
      dead: this.#warnings.size,
    };
  }

  #matching(search: string, dead: boolean): readonly number[] {
    const key = `${dead ? 'dead' : 'all'} ${search}`;
    const known = this.#found.get(key);
    if (known) return known;
    const { rules } = this.#routes.spec.route;
    const words = search.toLowerCase().split(/\s+/).filter(Boolean);
    const found: number[] = [];
    for (const [index, rule] of rules.entries()) {
      if (dead && !this.#warnings.has(index)) continue;
      if (words.every((word) => this.#has(index, rule, word))) found.push(index);
    }
    this.#found.set(key, found);
    return found;
  }

  #has(index: number, rule: RuleSpec, word: string): boolean {
    const number = BY_INDEX.exec(word)?.[1];
    if (number !== undefined) return Number(number) === index;
    const { places } = this.#routes;
    const has = (text: string | undefined): boolean => text?.toLowerCase().includes(word) === true;
    return (
      has(rule.outbound) ||
      has(places.groupOf(index)) ||
      MATCHERS.some((key) => {
        const texts = matcherTexts(rule, key);
        return texts.length > 0 && (has(key) || texts.some(has));
      }) ||
      has(shortPlace(places.of(index)))
    );
  }

  #row(index: number): RuleFacts {
    const { spec, places } = this.#routes;
    const rule = spec.route.rules[index];
    return {
      id: index,
      place: shortPlace(places.of(index)),
      group: places.groupOf(index) ?? null,
      matchers: rule ? matcherRow(rule) : [],
      target: targetText(spec, rule?.outbound ?? ''),
      warning: this.#warnings.get(index)?.message ?? null,
    };
  }
}

const matcherRow = (rule: RuleSpec): readonly MatcherText[] =>
  MATCHERS.flatMap((key) => {
    const texts = matcherTexts(rule, key);
    if (texts.length === 0) return [];
    const entries = texts.slice(0, SHOWN_ENTRIES).map(shortened);
    return [{ key, entries, more: texts.length - entries.length }];
  });

const shortened = (text: string): string =>
  text.length > LONGEST_ENTRY ? `${text.slice(0, LONGEST_ENTRY)}…` : text;

/** The target of a rule: an outbound or a balancer, described. */
export function targetText({ outbounds, balancers }: Spec, tag: string): TargetText {
  const balancer = balancers.find((each) => each.tag === tag);
  if (balancer) {
    const members = [...new Set(balancer.outbounds)].slice(0, SHOWN_MEMBERS);
    return { tag, kind: 'balancer', members };
  }
  return { tag, kind: outbounds.find((each) => each.tag === tag)?.protocol ?? '', members: [] };
}

/** A place without its directories: `weir.toml:12`. */
export const shortPlace = (place: ConfigLocation | undefined): string =>
  place === undefined
    ? ''
    : place.file === undefined
      ? `line ${place.line} of the built-in configuration`
      : `${basename(place.file)}:${place.line}`;
