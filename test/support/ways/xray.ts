import { startXray, versionOf } from '../programs/peers.ts';
import { rayLacks, type Lack } from './lack.ts';
import type { Program, Role } from './program.ts';
import { RAY_SOCKS_IN, rayIn, rayOut } from './ray.ts';
import { isModern, type Way } from './way.ts';

/** Recent versions block loopback destinations of remote clients unless a final rule allows them. */
export const XRAY_FREEDOM = {
  protocol: 'freedom',
  settings: { finalRules: [{ action: 'allow' }] },
};

export const xray: Program = {
  name: 'xray',
  needs: { server: ['xray'], client: ['xray'] },
  version: () => versionOf('xray', ['version'], /^Xray (\S+)/),
  unable,
  lacks,
  server: (way, { port } = {}) => startXray([rayIn(way)], [XRAY_FREEDOM], { port }),
  client: (way, server) =>
    startXray([RAY_SOCKS_IN], [rayOut(way, server)], { env: environment(way) }),
};

/** It sends the datagrams of VLESS and VMess over XUDP unless full cone is switched off. */
const isNarrow = ({ protocol, xudp = false }: Way): boolean =>
  (protocol === 'vless' || protocol === 'vmess') && !xudp;

const environment = (way: Way): Record<string, string> =>
  isNarrow(way) ? { XRAY_CONE_DISABLED: 'true' } : {};

function lacks(way: Way, role: Role): Lack[] {
  const one: Lack = {
    features: ['two destinations of one association'],
    note: 'without XUDP, Xray has one destination for all datagrams of an association',
  };
  const unaware: Lack = {
    features: ['a dead server is noticed'],
    note: 'with the methods of 2022, Xray keeps its client waiting when the server is gone',
  };
  // On a timeout its reader returns no bytes and no error, and an empty write ends the body.
  const hasty: Lack = {
    features: ['a client that is silent at first'],
    note: 'Xray ends a VMess request whose client sends nothing in the first 100 ms',
  };
  const isHasty = role === 'client' && way.protocol === 'vmess' && way.mux === undefined;
  return [
    ...(isHasty ? [hasty] : []),
    ...rayLacks('xray', way, role),
    ...(role === 'client' && isNarrow(way) ? [one] : []),
    ...(role === 'client' && isModern(way) ? [unaware] : []),
  ];
}

function unable(way: Way, _role: Role): string | undefined {
  if (way.protocol === 'hysteria2') return 'Xray has no Hysteria 2';
  return way.users === true && isModern(way) && way.cipher?.includes('aes') !== true
    ? 'several users need an AES method'
    : undefined;
}
