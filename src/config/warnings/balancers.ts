import type { BalancerTable } from '../tables/balancer.ts';
import type { WarningList } from './warning.ts';

/** Warns of valid intervals that make a balancer useless. */
export function warnOfBalancers(balancers: readonly BalancerTable[], list: WarningList): void {
  for (const { tag, probeInterval, probeTimeout } of balancers) {
    const warn = (message: string): void =>
      list.add('balancer-timing', tag.span, () => `balancer ${tag.value}: ${message}`);
    if (probeTimeout === 0n) {
      warn('with probe_timeout = 0 almost every probe fails, and members count as unavailable');
    }
    if (probeInterval === 0n) {
      warn('with probe_interval = 0 connections to each member are opened without a pause');
    }
  }
}
