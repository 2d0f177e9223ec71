import { quoted } from '@weir/base/printable';
import { ForeignObject, ImportError } from '@weir/proxy/protocols/forms';
import type { Matchers } from '../routing.ts';
import { literally } from '../values/expressions.ts';
import { networkOf } from '../values/networks.ts';
import { domainOf, isOfClient, NOT_RESOLVED, type Matched } from './matched.ts';

/** Maximum number of entries that rules get from inline providers: a long one that many rules name would multiply. */
const MOST_NAMED = 1_000_000;

/** Maximum number of entries of a provider that are reported individually. */
const MOST_LEFT_OUT = 3;

/** `rule-providers` of a document, of which those with `type: inline` have their rules in it (mihomo, rules/provider). */
export class RuleProviders {
  readonly #providers: ForeignObject;
  readonly #classical: (entry: string) => Matched;
  #named = 0;

  /**
   * @param providers the mapping; inline providers in it count as read
   * @param classical reads a rule without a target. @throws {ImportError}
   */
  constructor(providers: ForeignObject, classical: (entry: string) => Matched) {
    this.#providers = providers;
    this.#classical = classical;
    for (const name of providers.keys) if (inlineOf(providers.peek(name))) providers.list(name);
  }

  /** The matchers of `RULE-SET`. @throws {ImportError} with the reason why Weir has none for it */
  matchersOf(name: string, params: readonly string[]): Matched {
    const fields = inlineOf(this.#providers.peek(name));
    if (!fields) {
      throw new ImportError(
        'rule providers are not loaded; write their entries as rules, or use geosite and geoip',
      );
    }
    const payload = fields.list('payload');
    this.#named += payload.length;
    if (this.#named > MOST_NAMED) {
      throw new ImportError(
        `the rules would have more than ${MOST_NAMED} entries of rule-providers together`,
      );
    }
    const read = this.#readerOf(fields.text('behavior') ?? '', isOfClient(params));
    const found: Matched[] = [];
    const left: string[] = [];
    for (const entry of payload) {
      try {
        if (typeof entry !== 'string') throw new ImportError('it is not text');
        found.push(read(entry.trim()));
      } catch (error) {
        if (!(error instanceof ImportError)) throw error;
        left.push(`${quoted(String(entry))} is left out of it: ${error.message}`);
      }
    }
    if (found.length === 0) throw new ImportError(left[0] ?? 'its provider has no rules');
    const notes = new Set(found.flatMap((each) => each.notes));
    if (params.includes('no-resolve')) notes.delete(NOT_RESOLVED);
    const more = left.length - MOST_LEFT_OUT;
    return {
      any: merged(found.flatMap(({ any }) => any)),
      notes: [
        ...notes,
        ...left.slice(0, MOST_LEFT_OUT),
        ...(more > 0 ? [`${more} more of its entries are left out`] : []),
      ],
      isPartial: left.length > 0 || found.some(({ isPartial }) => isPartial === true),
    };
  }

  #readerOf(behavior: string, isSource: boolean): (entry: string) => Matched {
    switch (behavior.toLowerCase()) {
      case 'ipcidr':
        return (entry) =>
          isSource
            ? { any: [{ source_cidr: [networkOf(entry)] }], notes: [] }
            : { any: [{ cidr: [networkOf(entry)] }], notes: [NOT_RESOLVED] };
      case 'domain':
        if (isSource) break;
        return (entry) => ({ any: [domainMatcher(entry)], notes: [] });
      case 'classical':
        if (isSource) break;
        return this.#classical;
      default:
        throw new ImportError(`the behavior ${JSON.stringify(behavior)} is not supported`);
    }
    throw new ImportError('Weir has no such rule for clients');
  }
}

function inlineOf(value: unknown): ForeignObject | undefined {
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  const fields = new ForeignObject(value, 'a provider', 'reported');
  return fields.text('type') === 'inline' ? fields : undefined;
}

/**
 * The matcher of an entry with `behavior: domain` (mihomo, component/trie): `+.` is the domain and all below it, a
 * leading dot all below it, and `*` one label.
 */
function domainMatcher(entry: string): Matchers {
  if (entry.startsWith('+.')) return { domain_suffix: [domainOf(entry.slice(2))] };
  const labels = domainOf(entry).split('.');
  if (labels.slice(labels[0] === '' ? 1 : 0).some((label) => label === '')) {
    throw new ImportError('it is not a domain');
  }
  if (labels[0] !== '' && !labels.includes('*')) return { domain_full: [labels.join('.')] };
  const parts = labels.map((label) => (label === '*' ? '[^.]+' : literally(label)));
  // The empty label before a leading dot stands for any number of them.
  return { domain_regex: [`${labels[0] === '' ? '' : '^'}${parts.join(String.raw`\.`)}$`] };
}

/** Merges alternatives that are one list each, of which a provider has thousands. */
function merged(any: readonly Matchers[]): readonly Matchers[] {
  const lists = new Map<string, Set<string>>();
  const others: Matchers[] = [];
  for (const matchers of any) {
    const [only, ...more] = Object.entries(matchers) as [string, unknown][];
    if (!only || more.length > 0 || !Array.isArray(only[1])) {
      others.push(matchers);
      continue;
    }
    const [key, values] = only;
    const list = lists.get(key) ?? new Set<string>();
    lists.set(key, list);
    for (const value of values as readonly string[]) list.add(value);
  }
  return [...Array.from(lists, ([key, values]) => ({ [key]: [...values] })), ...others];
}
