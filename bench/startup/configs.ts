import { freedom, blackhole } from '../../test/support/process/config.ts';
import { EVERY_KIND } from '../../test/support/ways/way.ts';
import { weirIn, weirOut } from '../../test/support/ways/weir-config.ts';

/** What the programs serve: SOCKS with direct connections, or every protocol and carrier but `tun`. */
export type Served = 'socks' | 'all';

const WIREGUARD = `[[outbound]]
tag = "wireguard"
protocol = "wireguard"

[outbound.settings]
private_key = "YCr0lvLRY8mp2nLjMn5ciQl4xEJkYbM8Vp9sTXXwFU0="
peer_public_key = "iEsJkAvZzCzQPMTKWKTBCoCEEYMvCFfUNOtnU0kBqiY="
endpoint = "127.0.0.1:51820"
address = ["10.0.0.2"]
`;

/** A configuration of Weir with a SOCKS inbound on `port`; other inbounds take any port. */
export function weirConfig(served: Served, port: number): string {
  const least = `[[inbound]]\ntag = "socks"\nprotocol = "socks"\nport = ${port}\n\n${freedom()}`;
  if (served === 'socks') return least;
  const server = { host: '127.0.0.1', port: 1 };
  return [
    least,
    blackhole(),
    WIREGUARD,
    ...EVERY_KIND.map((way, i) => weirIn(way, { tag: `in${i}` })),
    ...[{ protocol: 'socks' } as const, ...EVERY_KIND].map((way, i) =>
      weirOut(way, server, { tag: `out${i}` }),
    ),
    '[api]\nlisten = "127.0.0.1:0"\n',
  ].join('\n');
}

/** A configuration of sing-box with the same SOCKS inbound alone. */
export const singBoxConfig = (port: number): string =>
  JSON.stringify({
    inbounds: [{ type: 'socks', listen: '127.0.0.1', listen_port: port }],
    outbounds: [{ type: 'direct' }],
  });
