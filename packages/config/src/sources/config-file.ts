import {
  anything,
  array,
  type Decoded,
  fallback,
  narrowed,
  optional,
  struct,
} from '@weir/proxy/schema';
import { apiTable } from '../api.ts';
import { balancerTable } from '../tables/balancer.ts';
import { dnsTable } from '../tables/dns.ts';
import { inboundTable } from '../tables/inbound.ts';
import { logTable } from '../tables/log.ts';
import { outboundTable } from '../tables/outbound.ts';
import { routeTable } from '../tables/route.ts';
import { subscribeTable } from '../tables/subscribe.ts';

/** The top level of a configuration file: a new table is a file in `tables/` and a line here. */
export const configFile = struct(
  {
    log: optional(logTable),
    dns: optional(dnsTable),
    inbound: fallback(array(inboundTable), []),
    outbound: fallback(array(outboundTable), []),
    balancer: fallback(array(balancerTable), []),
    route: optional(routeTable),
    subscribe: optional(subscribeTable),
    api: optional(narrowed(anything, apiTable.shape ?? {})),
  },
  {
    log: 'What is logged',
    dns: 'How names are resolved; without it by the resolver of the machine',
    inbound: 'A listener',
    outbound: 'An upstream or a direct connection; the first is the default route',
    balancer: 'Interchangeable outbounds behind one tag',
    route: 'Where flows go',
    subscribe: 'A file of nodes and route groups',
    api: 'The control API',
  },
);

/** The contents of a file with their places, which `lowerConfig` interprets. */
export type ConfigFile = Decoded<typeof configFile>;

/** Returns the tags of the balancers of a file, in file order. */
export function balancerTags({ balancer }: ConfigFile): readonly string[] {
  return balancer.map(({ tag }) => tag.value);
}
