import { defaultPick, picksOf } from '../../config/route-targets.ts';
import type { ConfigFile } from '../../config/sources/config-file.ts';
import { routeReferences } from '../../config/tables/route.ts';
import type { NodeFile } from '../nodes/node-file.ts';

/**
 * The names that a configuration sends flows to: of picks, of rules, of members of balancers, and of the first node
 * where that is the default route. Removing a node with such a name would reroute flows, or make the configuration
 * invalid.
 */
export function namesInUse(config: ConfigFile, nodes: NodeFile): ReadonlySet<string> {
  const used = new Set<string>();
  for (const { value } of picksOf(config).values()) used.add(value);
  for (const { tag } of routeReferences(config.route)) used.add(tag.value);
  for (const { outbounds } of config.balancer) {
    for (const { value } of outbounds.value) used.add(value);
  }
  const first = nodes.nodes[0]?.name;
  if (!defaultPick(config) && config.outbound.length === 0 && first !== undefined) used.add(first);
  return used;
}
