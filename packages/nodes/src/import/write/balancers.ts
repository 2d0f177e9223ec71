import { udpCarrier } from '@weir/proxy/protocols';
import { quoted } from '@weir/base/printable';
import type { ForeignGroup, ImportedEntry, Routing, Target } from '../routing.ts';
import type { Targets } from './settle.ts';
import { isInformation } from '../values/information.ts';
import { balancerText, comment } from './tables.ts';
import type { WrittenServers } from './servers.ts';
import { EVERY_SOURCE, followLine, type FollowMarker, IMPORTED, isSourceName } from './markers.ts';

/** The expression that matches every name. */
const ANY_NAME = '.';

/**
 * The line above the balancer of a group, by which `weir subscribe` has its members follow the document when that
 * becomes a source; `undefined` for a group that could not be distinguished from others.
 *
 * @param hasAll whether all servers of the document that can be members are members
 */
function followLineOf(
  { name, takes }: Pick<ForeignGroup, 'name' | 'takes'>,
  hasAll: boolean,
): string | undefined {
  const group = name === '' ? undefined : name;
  const everything = { excluded: [], excludedProtocols: [] };
  const marker: FollowMarker = takes
    ? {
        sources: sourcesOf(takes.from),
        // A provider's own list may have another group with that name.
        group: takes.isListing && !Array.isArray(takes.from) ? group : undefined,
        filters: takes.filters.length === 0 ? [ANY_NAME] : takes.filters,
        excluded: takes.excluded,
        excludedProtocols: takes.excludedProtocols,
      }
    : { sources: [IMPORTED], group, filters: hasAll ? [ANY_NAME] : [], ...everything };
  return marker.group === undefined && marker.filters.length === 0 ? undefined : followLine(marker);
}

function sourcesOf(from: NonNullable<ForeignGroup['takes']>['from']): readonly string[] {
  if (from === 'document') return [IMPORTED];
  // Users name their sources: the line uses the names of the providers, where they are valid.
  return from === 'all' || !from.every(isSourceName) ? [EVERY_SOURCE] : [...new Set(from)];
}

/** The balancers written for a document's groups. */
export interface WrittenBalancers {
  /** Tags of the balancers, by the index of their group. */
  readonly tags: ReadonlyMap<number, string>;
  readonly texts: readonly string[];
  /** Notes on groups, by their index. */
  readonly notes: ReadonlyMap<number, readonly string[]>;
}

/** Maximum number of members named in a note. */
const MOST_NAMED = 5;

/**
 * Writes a balancer for each group of servers that `wanted` leads to. Its members are the servers that can be probed
 * over TCP; a group without such members stands for its first server.
 */
export function writeBalancers(
  { entries, groups }: Pick<Routing, 'entries' | 'groups'>,
  wanted: Iterable<Target>,
  targets: Targets,
  { found, tags: taken }: WrittenServers,
): WrittenBalancers {
  const tags = new Map<number, string>();
  const texts: string[] = [];
  const notes = new Map<number, readonly string[]>();
  const candidates = entries
    .keys()
    .filter((index) => isCandidate(entries[index]) && found.has(index));
  const all = new Set(candidates.map((index) => found.get(index)?.tag));
  for (const target of wanted) {
    const end = targets.behindSelectors(target);
    if (end?.kind !== 'group' || notes.has(end.index)) continue;
    const group = groups[end.index];
    if (!group || targets.settle(end).kind !== 'server') continue;
    const members = new Set<string>();
    const left: string[] = [];
    for (const member of group.members) {
      const settled = targets.settle(member);
      const entry = settled.kind === 'server' ? entries[settled.index] : undefined;
      const tag = settled.kind === 'server' ? found.get(settled.index)?.tag : undefined;
      if (tag !== undefined && isProbed(entry)) members.add(tag);
      else left.push(targets.nameOf(member));
    }
    const leftOut = left.length === 0 ? [] : [`${namesOf(left)}: ${NOT_MEMBERS}`];
    if (members.size === 0) {
      notes.set(end.index, [NO_BALANCER]);
      continue;
    }
    notes.set(end.index, leftOut);
    const tag = taken.nextBalancer(group.name);
    tags.set(end.index, tag);
    const outbounds = [...members];
    const strategy = group.strategy === 'round_robin' ? 'round_robin' : 'failover';
    const follow = followLineOf(group, all.isSubsetOf(members));
    const hint = texts.length === 0 ? comment(FOLLOWING) : '';
    texts.push(
      (follow === undefined ? '' : `${hint}${follow}\n`) +
        balancerText(tag, { outbounds, strategy }, intervalOf(group)),
    );
  }
  return { tags, texts, notes };
}

const FOLLOWING =
  'Below "follows", `weir subscribe` changes the members when the nodes of a source change.';

/** Whether a server can be probed over TCP. */
const isProbed = (entry: ImportedEntry | undefined): boolean =>
  entry?.draft?.server !== undefined && udpCarrier(entry.draft.protocol) !== 'quic';

/** Whether a server would be a member of a group of all servers. */
const isCandidate = (entry: ImportedEntry | undefined): boolean =>
  isProbed(entry) && !isInformation(entry?.draft?.name ?? '');

/**
 * Seconds between probes, if shorter than the default. Longer intervals are ignored: they spare other programs a request
 * through each member, whereas a probe of Weir is only a connection to its server.
 */
const intervalOf = ({ interval }: ForeignGroup): number | undefined =>
  interval !== undefined && interval < DEFAULT_INTERVAL ? interval : undefined;

/** The default of `probe_interval`, in seconds. */
const DEFAULT_INTERVAL = 30;

const NOT_MEMBERS =
  'left out of the balancer, whose members are servers that a TCP connection can probe';
const NO_BALANCER =
  'none of its servers can be probed by a TCP connection, so it is not a balancer: its first server is used';

const namesOf = (names: readonly string[]): string =>
  names.length <= MOST_NAMED
    ? names.map(quoted).join(', ')
    : `${names.slice(0, MOST_NAMED).map(quoted).join(', ')} and ${names.length - MOST_NAMED} more`;
