import { startV2ray, versionOf } from '../programs/peers.ts';
import { rayLacks } from './lack.ts';
import type { Program, Role } from './program.ts';
import { RAY_SOCKS_IN, rayIn, rayOut } from './ray.ts';
import { carrierOf, isModern, type Way } from './way.ts';

/** Debian's v2ray, 4.34. */
export const v2ray: Program = {
  name: 'v2ray',
  needs: { server: ['v2ray'], client: ['v2ray'] },
  version: () => versionOf('v2ray', ['-version'], /^V2Ray (\S+)/),
  unable,
  lacks: (way, role) => rayLacks('v2ray', way, role),
  server: (way, { port } = {}) => startV2ray([rayIn(way)], undefined, { port }),
  client: (way, server) => startV2ray([RAY_SOCKS_IN], [rayOut(way, server)]),
};

function unable(way: Way, role: Role): string | undefined {
  const { network, earlyData } = carrierOf(way);
  if (way.protocol === 'hysteria2') return 'v2ray has no Hysteria 2';
  if (network === 'grpc') return 'v2ray 4.34 has no gRPC';
  if (earlyData === true) return 'v2ray 4.34 has no early data';
  if (isModern(way)) return 'v2ray 4.34 has no Shadowsocks of 2022';
  if (way.cipher?.startsWith('xchacha20') === true) return 'v2ray has no XChaCha20';
  if (way.xudp === true) return 'v2ray has no XUDP';
  if (way.protocol === 'shadowsocks' && way.users === true && role === 'server') {
    return 'v2ray has one Shadowsocks user on a port';
  }
  return undefined;
}
