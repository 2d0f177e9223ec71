import type { Located } from '../../schema/decoder.ts';
import { defaultTarget, groupTargets, picksOf } from '../route-targets.ts';
import type { Examined } from './examined.ts';
import type { WarningList } from './warning.ts';

/**
 * Warns of outbounds and balancers of the configuration file that no route uses. Nodes of a subscribe file
 * are the provider's choice; if routes can be switched at run time, every outbound may be picked.
 */
export function warnOfUnused(examined: Examined, list: WarningList): void {
  const { own, merged, subscribe, canPick } = examined;
  if (canPick) return;
  const used = new Set(merged.route?.rule.map(({ outbound }) => outbound.value));
  const fallback = defaultTarget(own, subscribe);
  if (fallback) used.add(fallback.value);
  for (const { value } of picksOf(own).values()) used.add(value);
  for (const target of subscribe ? groupTargets(own, subscribe) : []) {
    if ('value' in target) used.add(target.value);
  }
  const warn = (id: 'unused-balancer' | 'unused-outbound', what: string, tag: Located<string>) =>
    list.add(
      id,
      tag.span,
      () => `${what} ${tag.value} is not used: no rule, default or pick leads to it`,
    );
  for (const { tag, outbounds } of own.balancer) {
    if (!used.has(tag.value)) warn('unused-balancer', 'balancer', tag);
    // One warning is enough for an unused balancer: its members count as used.
    for (const { value } of outbounds.value) used.add(value);
  }
  for (const { value } of own.outbound) {
    if (!used.has(value.tag.value)) warn('unused-outbound', 'outbound', value.tag);
  }
}
