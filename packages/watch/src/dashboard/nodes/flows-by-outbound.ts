import type { Monitor } from '@weir/client/monitor';
import type { NodeRow } from './view.ts';

/** Maximum number of versions of an outbound in a row. */
const SHOWN_VERSIONS = 8;

/**
 * Open flows by outbound and version. A reload gives a changed outbound a new version, and the previous one ends with
 * its flows. An outbound with one version is not listed.
 */
export function versionsByOutbound({
  flows,
}: Pick<Monitor, 'flows'>): ReadonlyMap<string, NodeRow['versions']> {
  const counts = new Map<string, Map<number, number>>();
  for (const { view, closedAt } of flows.values()) {
    if (closedAt !== undefined) continue;
    const { outbound, outbound_version: version } = view;
    let versions = counts.get(outbound);
    if (!versions) counts.set(outbound, (versions = new Map<number, number>()));
    versions.set(version, (versions.get(version) ?? 0) + 1);
  }
  const listed = new Map<string, NodeRow['versions']>();
  for (const [outbound, versions] of counts) {
    if (versions.size < 2) continue;
    const latest = [...versions].toSorted(([a], [b]) => b - a).slice(0, SHOWN_VERSIONS);
    listed.set(
      outbound,
      latest.map(([version, open]) => ({ version, flows: open })),
    );
  }
  return listed;
}
