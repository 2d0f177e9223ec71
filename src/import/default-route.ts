import { quoted } from '../printable.ts';
import type { ImportedEntry } from './draft.ts';
import type { DefaultTag } from './write-config.ts';

/** The default route of a document. */
export type DefaultRoute =
  /** The document is a list of servers: any of them may be the default. */
  | { readonly kind: 'unstated' }
  | { readonly kind: 'direct' }
  | { readonly kind: 'blackhole' }
  /** The first of these entries, by index, that can be imported. */
  | { readonly kind: 'entries'; readonly name: string; readonly among: readonly number[] }
  /** A name that is not an entry. */
  | { readonly kind: 'missing'; readonly name: string };

/** The servers of a document. */
export interface Servers {
  readonly entries: readonly ImportedEntry[];
  readonly standard: DefaultRoute;
  /** The number of groups and rules, which are not imported. */
  readonly groups: number;
  readonly rules: number;
}

/** A group of outbounds, by their names. */
export interface Group {
  readonly members: readonly string[];
  /** Whether it uses its first member until the user picks another; otherwise it may use any. */
  readonly choosesOne: boolean;
}

/** Clash's built-in outbounds. */
const BUILT_IN: ReadonlyMap<string, 'direct' | 'blackhole'> = new Map([
  ['DIRECT', 'direct'],
  ['REJECT', 'blackhole'],
  ['REJECT-DROP', 'blackhole'],
]);

/** Resolves a name to entries, through nested groups. */
export function followGroups(
  name: string,
  groups: ReadonlyMap<string, Group>,
  names: readonly string[],
): DefaultRoute {
  const indexes = new Map<string, number>();
  for (const [index, each] of names.entries()) if (!indexes.has(each)) indexes.set(each, index);
  const passed = new Set<string>();
  const among: number[] = [];
  let builtIn: 'direct' | 'blackhole' | undefined;
  const waiting = [name];
  for (let next = waiting.pop(); next !== undefined; next = waiting.pop()) {
    const index = indexes.get(next);
    const group = groups.get(next);
    if (index !== undefined) among.push(index);
    else if (group && !passed.has(next)) {
      passed.add(next);
      waiting.push(...(group.choosesOne ? group.members.slice(0, 1) : group.members.toReversed()));
    } else builtIn ??= among.length === 0 ? BUILT_IN.get(next) : undefined;
  }
  if (among.length > 0) return { kind: 'entries', name, among };
  return builtIn === undefined ? { kind: 'missing', name } : { kind: builtIn };
}

/** The built-in outbound that drops flows. */
const DROP = 'blackhole';

/**
 * The outbound for flows that no rule matches. If the default cannot be imported it must not become
 * a direct connection: flows are dropped, and the problem is reported.
 * @param tags tags of the imported entries, by index
 */
export function chooseDefault(servers: Servers, tags: ReadonlyMap<number, string>): DefaultTag {
  const { entries, standard, rules } = servers;
  const isServer = (index: number): boolean => {
    const protocol = entries[index]?.draft?.protocol;
    return protocol !== 'freedom' && protocol !== 'blackhole';
  };
  const isDirect = (index: number): boolean => entries[index]?.draft?.protocol === 'freedom';
  const hasServers = entries.keys().some(isServer);
  switch (standard.kind) {
    case 'unstated': {
      const first = tags.entries().find(([index]) => isServer(index));
      if (first) return { tag: first[1] };
      return { tag: DROP, problem: 'No server of the document could be imported.' };
    }
    case 'missing':
      return {
        tag: DROP,
        problem: `The default of the document, ${quoted(standard.name)}, could not be imported: it is not one of its servers.`,
      };
    case 'blackhole':
      return { tag: DROP };
    case 'direct':
      return hasServers && rules > 0 ? withoutRules() : { tag: 'direct' };
    case 'entries': {
      const [chosen = -1, ...others] = standard.among;
      if (isDirect(chosen) && hasServers && rules > 0) return withoutRules();
      // Among several members a direct connection is not the purpose of the document.
      const index = standard.among.find(
        (each) => tags.has(each) && (others.length === 0 || isServer(each)),
      );
      const tag = index === undefined ? undefined : tags.get(index);
      if (tag !== undefined) return { tag };
      const reason = entries[chosen]?.skipped;
      return {
        tag: DROP,
        problem: `The default of the document, ${quoted(standard.name)}, could not be imported${reason === undefined ? '' : `: ${reason}`}.`,
      };
    }
    default:
      return standard satisfies never;
  }
}

const withoutRules = (): DefaultTag => ({
  tag: DROP,
  problem:
    'The default of the document is a direct connection, and its rules, which send flows to servers, are not imported.',
});
