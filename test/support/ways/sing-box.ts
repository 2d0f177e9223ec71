import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { portOf, type Address } from '../data/address.ts';
import { startPeer, type Peer, versionOf } from '../programs/peers.ts';
import { certificate, SERVER_NAME } from './certificate.ts';
import { halfCloseLack, type Feature, type Lack } from './lack.ts';
import type { Program, Role, ServerOptions } from './program.ts';
import {
  clientSecrets,
  ID,
  LOGIN,
  OBFS_PASSWORD,
  PASSWORD,
  shadowsocksSecrets,
} from './secrets.ts';
import { carrierOf, isPlain, type Protocol, type Way } from './way.ts';

export const singBox: Program = {
  name: 'sing-box',
  needs: { server: ['sing-box'], client: ['sing-box'] },
  version: () => versionOf('sing-box', ['version'], /^sing-box version (\d\S*)/),
  unable,
  lacks,
  server: (way, options) =>
    startSingBox({ inbound: singBoxIn(way) }, { ...options, isUdp: way.protocol === 'hysteria2' }),
  client: (way, server) =>
    startSingBox({ inbound: { type: 'socks' }, outbound: singBoxOut(way, server) }),
};

function lacks(way: Way, role: Role): Lack[] {
  const { protocol, xudp = false } = way;
  const one: Lack = {
    features: ['two destinations of one association'],
    note: 'without XUDP, sing-box has one destination for all datagrams of an association',
  };
  const isNarrow = role === 'client' && (protocol === 'vless' || protocol === 'vmess') && !xudp;
  const isTrojan = protocol === 'trojan' && carrierOf(way).network === 'tcp';
  const passed: readonly Feature[] = isTrojan && role === 'server' ? ['the server ends first'] : [];
  return [...halfCloseLack('sing-box', passed), ...(isNarrow ? [one] : [])];
}

function unable(way: Way, role: Role): string | undefined {
  const { network, tls, multi } = carrierOf(way);
  const { protocol } = way;
  if (way.mux !== undefined) return 'sing-box has no Mux.Cool';
  if (multi === true) return 'sing-box has no multi mode';
  if (protocol === 'socks' && !isPlain(way)) return 'sing-box has SOCKS over plain TCP only';
  if (protocol === 'http' && network !== 'tcp') return 'sing-box has HTTP over TCP and TLS only';
  if (protocol === 'shadowsocks' && (network !== 'tcp' || tls === true)) {
    return 'sing-box has Shadowsocks over plain TCP only';
  }
  if (way.xudp === true && role === 'server') return 'Weir takes Mux.Cool in and never sends it';
  return undefined;
}

interface Sides {
  readonly inbound: object;
  /** Absent: direct. */
  readonly outbound?: object;
  /** Several in place of the one, and the rules that lead to them. */
  readonly outbounds?: readonly object[];
  readonly rules?: readonly object[];
}

/** sing-box with one inbound, as its JSON without address and port, and its outbounds. */
export function startSingBox(
  { inbound, outbound = { type: 'direct' }, outbounds = [outbound], rules = [] }: Sides,
  { port, isUdp = false }: ServerOptions & { readonly isUdp?: boolean } = {},
): Promise<Peer> {
  const command = async ([chosen]: readonly number[], folder: string): Promise<string[]> => {
    const file = join(folder, 'config.json');
    const config = {
      log: { level: isUdp ? 'info' : 'warn' },
      inbounds: [{ ...inbound, listen: '127.0.0.1', listen_port: chosen }],
      outbounds,
      route: { rules },
    };
    await writeFile(file, JSON.stringify(config));
    return ['run', '-c', file];
  };
  const ready = isUdp ? { ready: /sing-box started/ } : {};
  return startPeer('sing-box', 1, command, { port, ...ready });
}

/** An inbound, which lacks its address and port. */
export function singBoxIn(way: Way): object {
  const { server, users } = shadowsocksSecrets(way);
  const named = users.map((password, i) => ({ name: `user${i}`, password }));
  const login = way.login === true ? [{ username: LOGIN.user, password: LOGIN.pass }] : [];
  const settings: Readonly<Record<Protocol, object>> = {
    socks: { users: login },
    http: { users: login },
    trojan: { users: [{ name: 'mia', password: PASSWORD }] },
    vless: { users: [{ name: 'mia', uuid: ID }] },
    vmess: { users: [{ name: 'mia', uuid: ID, alterId: 0 }] },
    shadowsocks: {
      method: way.cipher,
      password: server,
      ...(named.length > 0 ? { users: named } : {}),
    },
    hysteria2: { users: [{ name: 'mia', password: PASSWORD }], ...obfuscation(way) },
  };
  return {
    type: way.protocol,
    ...settings[way.protocol],
    ...tls(way, 'server'),
    ...transport(way),
  };
}

/** The outbound of a way to a server. */
export function singBoxOut(way: Way, to: Address): object {
  const { cipher } = way;
  const { id: uuid, password, login: account } = clientSecrets(way);
  const login = way.login === true ? { username: account.user, password: account.pass } : {};
  const packets = { packet_encoding: way.xudp === true ? 'xudp' : '' };
  const settings: Readonly<Record<Protocol, object>> = {
    socks: login,
    http: login,
    trojan: { password },
    vless: { uuid, ...packets },
    vmess: { uuid, security: cipher, alter_id: 0, ...packets },
    shadowsocks: { method: cipher, password: shadowsocksSecrets(way).client },
    hysteria2: { password, ...obfuscation(way) },
  };
  return {
    type: way.protocol,
    server: '127.0.0.1',
    server_port: portOf(to),
    ...settings[way.protocol],
    ...tls(way, 'client'),
    ...transport(way),
  };
}

const obfuscation = ({ obfuscated = false }: Way): object =>
  obfuscated ? { obfs: { type: 'salamander', password: OBFS_PASSWORD } } : {};

function tls(way: Way, role: Role): object {
  if (carrierOf(way).tls !== true && way.protocol !== 'hysteria2') return {};
  const { certFile, keyFile, caFile } = certificate();
  const keys =
    role === 'server'
      ? { certificate_path: certFile, key_path: keyFile }
      : { server_name: SERVER_NAME, certificate_path: caFile };
  return { tls: { enabled: true, ...keys } };
}

function transport(way: Way): object {
  const { network, earlyData = false } = carrierOf(way);
  if (network === 'tcp') return {};
  if (network === 'grpc') return { transport: { type: 'grpc', service_name: 'Tunnel' } };
  // In the header, where the others have it; its own default is the path.
  const early = { max_early_data: 2048, early_data_header_name: 'Sec-WebSocket-Protocol' };
  return { transport: { type: 'ws', path: '/tunnel', ...(earlyData ? early : {}) } };
}
