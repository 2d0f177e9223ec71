import type { Address } from '../test/support/data/address.ts';
import type { Peer } from '../test/support/programs/peers.ts';
import { singBoxOut, startSingBox } from '../test/support/ways/sing-box.ts';
import type { Way } from '../test/support/ways/way.ts';
import { sessionHost } from './load/session-host.ts';

/** sing-box with `count` outbounds to one server, each chosen by a destination and used for it alone. */
export function startSingBoxSessions(way: Way, server: Address, count: number): Promise<Peer> {
  const numbers = Array.from({ length: count }, (_, i) => i);
  const outbound = singBoxOut(way, server);
  return startSingBox({
    inbound: { type: 'socks' },
    outbounds: numbers.map((number) => ({ ...outbound, tag: `session${number}` })),
    rules: numbers.map((number) => ({
      ip_cidr: [`${sessionHost(number)}/32`],
      outbound: `session${number}`,
      // All of them lead to the one origin.
      override_address: '127.0.0.1',
    })),
  });
}
