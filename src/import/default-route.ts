import { quoted } from '../printable.ts';
import type { ImportedEntry } from './draft.ts';
import type { DefaultTag } from './write-config.ts';

/** Where a document sends what none of its rules matches. */
export type DefaultRoute =
  /** A list of servers alone: any of them will do. */
  | { readonly kind: 'unstated' }
  | { readonly kind: 'direct' }
  | { readonly kind: 'blackhole' }
  /** One of these entries, by index; the first that can be imported. */
  | { readonly kind: 'entries'; readonly name: string; readonly among: readonly number[] }
  /** Something that is no entry. */
  | { readonly kind: 'missing'; readonly name: string };

/** The servers of a document. */
export interface Servers {
  readonly entries: readonly ImportedEntry[];
  readonly standard: DefaultRoute;
  /** Groups and rules, which are not imported. */
  readonly groups: number;
  readonly rules: number;
}

/** Outbounds that choose among others, by their names. */
export interface Group {
  readonly members: readonly string[];
  /** Whether it stays with its first member until the user picks another; otherwise it may use any. */
  readonly choosesOne: boolean;
}

/** Names of Clash for what is no server. */
const BUILT_IN: ReadonlyMap<string, 'direct' | 'blackhole'> = new Map([
  ['DIRECT', 'direct'],
  ['REJECT', 'blackhole'],
  ['REJECT-DROP', 'blackhole'],
]);

/** The entries that a name stands for, through groups of groups. */
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

/** The built-in outbound that drops what is sent to it. */
const DROP = 'blackhole';

/**
 * The outbound for flows that no rule matches. What cannot be imported must not become a direct
 * connection: flows are dropped instead, and the problem is reported.
 * @param tags of the entries that were imported, by index
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
      // Among several a direct connection is not what the document was made for.
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
