import type { ForeignGroup } from '../routing.ts';
import { EVERY_SOURCE, followLine, IMPORTED, isSourceName, type FollowMarker } from './markers.ts';

/** The expression that takes each node. */
const ANY_NAME = '.';

/**
 * The line above the balancer of a group, by which `weir subscribe` has its members follow the document when that
 * becomes a source; `undefined` for one that could not be told from others.
 *
 * @param hasAll whether all servers of the document that can be members are members
 */
export function followLineOf(
  { name, takes }: Pick<ForeignGroup, 'name' | 'takes'>,
  hasAll: boolean,
): string | undefined {
  const group = name === '' ? undefined : name;
  const everything = { excluded: [], excludedProtocols: [] };
  const marker: FollowMarker = takes
    ? {
        sources: sourcesOf(takes.from),
        // What a provider's own list has under that name is another group.
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
  // Sources are named by users: as the providers, where such a name is possible.
  return from === 'all' || !from.every(isSourceName) ? [EVERY_SOURCE] : [...new Set(from)];
}
