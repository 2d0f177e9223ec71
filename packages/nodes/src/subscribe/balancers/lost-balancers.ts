import type { ConfigFile } from '@weir/config/documents';
import { IMPORTED } from '../../import/write/markers.ts';
import type { Marker, NodeFile } from '../nodes/node-file.ts';

/**
 * The sources that no longer have any of a balancer's nodes; empty while one of the members is in its source, or if no
 * member is from a source.
 */
export function lostSources(
  members: readonly string[],
  markerOf: (name: string) => Marker | undefined,
): readonly string[] {
  const markers = members.flatMap((name) => markerOf(name) ?? []);
  const ofSources = markers.filter(({ source }) => source !== IMPORTED);
  if (ofSources.some(({ goneSince }) => goneSince === undefined)) return [];
  return [...new Set(ofSources.map(({ source }) => source))];
}

/** The tags of balancers whose sources, including this one, no longer have any of their nodes. */
export function balancersLostBy(
  source: string,
  { balancer }: Pick<ConfigFile, 'balancer'>,
  { nodes }: NodeFile,
): readonly string[] {
  const markers = new Map(nodes.map(({ name, marker }) => [name, marker]));
  return balancer
    .filter(({ outbounds }) =>
      lostSources(
        outbounds.value.map(({ value }) => value),
        (name) => markers.get(name),
      ).includes(source),
    )
    .map(({ tag }) => tag.value);
}
