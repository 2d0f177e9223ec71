import type { Located } from '../../schema/decoder.ts';
import { defaultTarget, groupTargets, picksOf } from '../route-targets.ts';
import type { Examined } from './examined.ts';
import type { WarningList } from './warning.ts';

/**
 * Outbounds and balancers of the configuration file that nothing leads to. Nodes of a subscribe file
 * are a provider's choice, and where picks can be made each outbound is a choice.
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
    // Of an unused balancer, one warning is enough.
    for (const { value } of outbounds.value) used.add(value);
  }
  for (const { value } of own.outbound) {
    if (!used.has(value.tag.value)) warn('unused-outbound', 'outbound', value.tag);
  }
}
