import type { RouteQuery } from '@weir/proxy/router';
import { ruleSpec } from '../../data/specs.ts';
import type { CidrSpec, PortRangeSpec, RuleSpec } from '@weir/proxy/spec';

/** A rule with these matchers. */
export const rule = (matchers: Partial<RuleSpec>): RuleSpec => ruleSpec('out', matchers);

/** `192.0.2.0/24` as the configuration lowers it. */
export function cidr(text: string): CidrSpec {
  const [address = '', prefix] = text.split('/');
  return { address, prefix: prefix === undefined ? (address.includes(':') ? 128 : 32) : +prefix };
}

export const port = (low: number, high = low): PortRangeSpec => ({ low, high });

export const query = (parts: Partial<RouteQuery>): RouteQuery => ({
  inbound: 'in',
  source: '127.0.0.1',
  network: 'tcp',
  host: 'example.com',
  port: 443,
  sniffed: undefined,
  ...parts,
});
