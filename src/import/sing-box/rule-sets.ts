import { ImportError } from '../../protocols/forms/draft.ts';
import { ForeignObject } from '../../protocols/forms/foreign-object.ts';
import type { Matchers } from '../routing.ts';
import { destinationsOf } from './conditions.ts';
import { nameOf } from '../read-entry.ts';

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
        return { any: this.#inline(tag, fields.list('rules')) };
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
  #inline(tag: string, rules: readonly unknown[]): readonly Matchers[] {
    if (rules.length > MAX_INLINE) {
      throw new ImportError(
        `the rule_set ${JSON.stringify(tag)} has more than ${MAX_INLINE} rules`,
      );
    }
    return rules.flatMap((each) => {
      const fields = new ForeignObject(each);
      const found = destinationsOf(fields);
      const others = [...fields.unread()].filter(({ value }) => value !== false);
      if (others.length > 0 || found.length === 0) {
        throw new ImportError(
          `the rule_set ${JSON.stringify(tag)} has a rule with other conditions than domains and networks`,
        );
      }
      return found;
    });
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
export interface RuleSetReading {
  /** A flow in the rule set matches one of these alternatives. */
  readonly any: readonly Matchers[];
  readonly note?: string;
}

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
    note: `the rule_set ${JSON.stringify(tag)} is the list ${JSON.stringify(code)} of the file \`route.${key}\``,
  };
}

const MAX_PLACE = 2000;
