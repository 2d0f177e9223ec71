import { quoted } from '@weir/base/printable';
import { ForeignObject, ImportError, statedOf } from '@weir/proxy/protocols/forms';
import { nameOf } from '../entry.ts';
import type { Matchers } from '../routing.ts';
import { expressionOf, literally } from '../values/expressions.ts';
import { networkOf, PRIVATE_NETWORKS } from '../values/networks.ts';

/** The rule sets of a document, each converted to alternatives. */
export class RuleSets {
  readonly #values = new Map<string, unknown>();
  readonly #read = new Map<string, RuleSetReading>();
  #named = 0;

  /** @param list the value of `route.rule_set` */
  constructor(list: readonly unknown[]) {
    for (const each of list) {
      const tag = nameOf(each, 'tag');
      if (!this.#values.has(tag)) this.#values.set(tag, each);
    }
  }

  /**
   * The conversion of a rule set for a further rule, which gets a copy of its entries.
   * @throws {ImportError} for a rule set that Weir does not support, and when rules have too many entries of rule sets
   */
  of(tag: string): RuleSetReading {
    const reading = this.#known(tag);
    this.#named += entriesIn(reading);
    if (this.#named > MAX_NAMED) {
      throw new ImportError(
        `the rules would have more than ${MAX_NAMED} entries of rule_sets together`,
      );
    }
    return reading;
  }

  #known(tag: string): RuleSetReading {
    const known = this.#read.get(tag);
    if (known) return known;
    if (!this.#values.has(tag)) {
      throw new ImportError(`the document has no rule_set ${JSON.stringify(tag)}`);
    }
    const reading = this.#reading(tag, new ForeignObject(this.#values.get(tag)));
    this.#read.set(tag, reading);
    return reading;
  }

  #reading(tag: string, fields: ForeignObject): RuleSetReading {
    const type = fields.text('type') ?? '';
    switch (type) {
      case '':
      case 'inline':
        return this.#inline(tag, fields.list('rules'));
      case 'local':
        return geoList(tag, fields.text('path') ?? '');
      case 'remote':
        return geoList(tag, fields.text('url') ?? '');
      default:
        throw new ImportError(`the type ${JSON.stringify(type)} of a rule_set is not supported`);
    }
  }

  /**
   * Converts inline rules. Conditions other than on the destination are not supported: they would have to be joined
   * with those of the rule.
   */
  #inline(tag: string, rules: readonly unknown[]): RuleSetReading {
    if (rules.length > MAX_INLINE) {
      throw new ImportError(
        `the rule_set ${JSON.stringify(tag)} has more than ${MAX_INLINE} rules`,
      );
    }
    const readings = rules.map((each) => {
      const fields = new ForeignObject(each);
      const found = destinationsOf(fields);
      const others = [...fields.unread()].filter(({ value }) => value !== false);
      if (others.length > 0 || isUnlimited(found)) {
        throw new ImportError(
          `the rule_set ${JSON.stringify(tag)} has a rule with other conditions than domains and networks`,
        );
      }
      return found;
    });
    return {
      any: readings.flatMap(({ any }) => any),
      notes: readings.flatMap(({ notes }) => notes),
    };
  }
}

const MAX_INLINE = 16;

/** Maximum number of entries that rules get from rule sets: a long one that many rules name would multiply. */
const MAX_NAMED = 1_000_000;

const entriesIn = ({ any }: RuleSetReading): number =>
  any.reduce(
    (sum, matchers) =>
      sum + Object.values(matchers).reduce((count, values) => count + values.length, 0),
    0,
  );

/** A converted rule set. */
interface RuleSetReading {
  /** A flow in the rule set matches one of these alternatives. */
  readonly any: readonly Matchers[];
  readonly notes: readonly string[];
}

/** Whether a rule has no condition on its destination, rather than one that nothing meets. */
export const isUnlimited = ({ any, notes }: RuleSetReading): boolean =>
  any.length === 0 && notes.length === 0;

/** File names of single lists of the geo files: `geosite-cn.srs`, `geo/geosite/cn.srs`. */
const GEO_FILE = /(?:^|[/\\])(?:(?<kind>geosite|geoip)[-/])(?<code>[^/\\?]{1,100})\.(?:srs|json)$/i;

function geoList(tag: string, place: string): RuleSetReading {
  const [path = ''] = place.slice(0, MAX_PLACE).split('?', 1);
  const { kind = '', code = '' } = GEO_FILE.exec(path)?.groups ?? {};
  if (kind === '') {
    throw new ImportError(`the rule_set ${JSON.stringify(tag)} is a file of sing-box`);
  }
  const key = kind.toLowerCase() === 'geosite' ? 'geosite' : 'geoip';
  return {
    any: [{ [key]: [code] }],
    notes: [
      `the rule_set ${JSON.stringify(tag)} is the list ${JSON.stringify(code)} of the file \`route.${key}\``,
    ],
  };
}

const MAX_PLACE = 2000;

/**
 * The conditions of a rule on its destination, which sing-box joins by "or": each kind that the rule has is an
 * alternative. Unlimited if it has no such condition. sing-box compares names in lower case, so that a value with
 * capitals never matches there: a note names what is left out.
 * @throws {ImportError} for a value that Weir cannot match
 */
export function destinationsOf(fields: ForeignObject): RuleSetReading {
  const inCapitals: string[] = [];
  const namesOf = (key: string): readonly string[] => {
    const [inLowerCase, others] = partition(
      textsOf(fields, key),
      (each) => each !== each.toLowerCase(),
    );
    inCapitals.push(...others);
    return inLowerCase;
  };
  const [suffixes, subdomains] = partition(namesOf('domain_suffix'), (each) =>
    each.startsWith('.'),
  );
  const patterns = [
    ...textsOf(fields, 'domain_regex'),
    // With a leading dot only subdomains match.
    ...subdomains.map((each) => `${literally(each)}$`),
  ];
  const [codes, privateCodes] = partition(textsOf(fields, 'geoip'), (each) => each === 'private');
  const networks = [
    ...textsOf(fields, 'ip_cidr').map((each) => networkOf(each)),
    ...(privateCodes.length > 0 || isSet(fields, 'ip_is_private') ? PRIVATE_NETWORKS : []),
  ];
  const any = alternatives({
    domain_full: namesOf('domain'),
    domain_suffix: suffixes,
    domain_keyword: namesOf('domain_keyword'),
    domain_regex: patterns.map((each) => expressionOf(each)),
    geosite: textsOf(fields, 'geosite'),
    cidr: [...new Set(networks)],
    geoip: codes,
  });
  return { any, notes: notesOnCapitals(inCapitals) };
}

const notesOnCapitals = ([first, ...others]: readonly string[]): readonly string[] => {
  if (first === undefined) return [];
  const more = others.length === 0 ? '' : ` and ${others.length} more`;
  return [`${quoted(first)}${more}: names with capitals never match in sing-box`];
};

/** The condition on the client's address; empty if there is none. */
export function sourceOf(fields: ForeignObject): Matchers {
  const networks = [
    ...textsOf(fields, 'source_ip_cidr').map((each) => networkOf(each)),
    ...(isSet(fields, 'source_ip_is_private') ? PRIVATE_NETWORKS : []),
  ];
  return networks.length === 0 ? {} : { source_cidr: [...new Set(networks)] };
}

/**
 * A list of strings, or a single one.
 * @throws {ImportError} for any other value, or only empty strings, which would match nothing or everything
 */
export function textsOf(fields: ForeignObject, key: string): readonly string[] {
  return statedOf(fields.list(key)).map((value) => {
    if (typeof value === 'string' && value !== '') return value;
    throw new ImportError(`${JSON.stringify(key)} has a value that is not a text`);
  });
}

/**
 * Whether a condition without a value is set.
 * @throws {ImportError} for any value but true and false, since it must not be interpreted as either
 */
export function isSet(fields: ForeignObject, key: string): boolean {
  const [value = false] = fields.list(key);
  if (typeof value === 'boolean') return value;
  throw new ImportError(`${JSON.stringify(key)} is neither true nor false`);
}

const alternatives = (lists: Readonly<Record<string, readonly string[]>>): Matchers[] =>
  Object.entries(lists).flatMap(([key, values]) =>
    values.length === 0 ? [] : [{ [key]: values }],
  );

/** Partitions values by a predicate: first those without it, then those with it. */
function partition(
  values: readonly string[],
  has: (value: string) => boolean,
): readonly [readonly string[], readonly string[]] {
  return [values.filter((each) => !has(each)), values.filter(has)];
}
