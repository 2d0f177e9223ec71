import type { ForeignGroup } from '../routing.ts';
import { EVERY_SOURCE, followLine, IMPORTED, isSourceName, type FollowMarker } from './markers.ts';

/** The expression that matches every name. */
const ANY_NAME = '.';

/**
 * The line above the balancer of a group, by which `weir subscribe` has its members follow the document when that
 * becomes a source; `undefined` for a group that could not be distinguished from others.
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
