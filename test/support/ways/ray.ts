import { portOf, type Address } from '../data/address.ts';
import { certificate, SERVER_NAME } from './certificate.ts';
import { clientSecrets, ID, LOGIN, PASSWORD, OTHER_ID, shadowsocksSecrets } from './secrets.ts';
import { carrierOf, isModern, isPlain, type Protocol, type Way } from './way.ts';

/** Ways in the configuration of v2ray and Xray, which share its format. */

/** An inbound, which lacks its address and port. */
export function rayIn(way: Way): object {
  return {
    protocol: way.protocol,
    settings: inboundSettings(way),
    streamSettings: stream(way, serverTls),
  };
}

/** An outbound to `server`. */
export function rayOut(way: Way, server: Address): object {
  const { mux = 0 } = way;
  return {
    protocol: way.protocol,
    settings: outboundSettings(way, portOf(server)),
    streamSettings: stream(way, clientTls),
    mux: { enabled: mux > 0, concurrency: mux },
  };
}

/** A SOCKS inbound, UDP included. */
export const RAY_SOCKS_IN = {
  protocol: 'socks',
  settings: { auth: 'noauth', udp: true, ip: '127.0.0.1' },
} as const;

function inboundSettings(way: Way): object {
  const login = { auth: 'password', accounts: [LOGIN], udp: true, ip: '127.0.0.1' };
  const settings: Readonly<Record<Protocol, object>> = {
    socks: way.login === true ? login : RAY_SOCKS_IN.settings,
    http: way.login === true ? { accounts: [LOGIN] } : {},
    trojan: { clients: [{ password: PASSWORD }] },
    vless: { clients: [{ id: OTHER_ID }, { id: ID }], decryption: 'none' },
    vmess: { clients: [OTHER_ID, ID].map((id) => ({ id, alterId: 0 })) },
    shadowsocks: shadowsocksIn(way),
    hysteria2: {},
  };
  return settings[way.protocol];
}

function shadowsocksIn(way: Way): object {
  const { cipher: method } = way;
  const { server: password, users } = shadowsocksSecrets(way);
  const one = { method, password, network: 'tcp,udp' };
  if (users.length === 0) return one;
  // The 2022 edition takes the method from the server, the legacy one from each user.
  const each = isModern(way) ? {} : { method };
  return {
    ...one,
    clients: users.map((user, i) => ({ ...each, password: user, email: `user${i}@x` })),
  };
}

function outboundSettings(way: Way, port: number): object {
  const { id, password, login } = clientSecrets(way);
  const server = { address: '127.0.0.1', port };
  const proxy = { servers: [{ ...server, users: way.login === true ? [login] : [] }] };
  const { cipher } = way;
  const key = shadowsocksSecrets(way).client;
  const settings: Readonly<Record<Protocol, object>> = {
    socks: proxy,
    http: proxy,
    trojan: { servers: [{ ...server, password }] },
    vless: { vnext: [{ ...server, users: [{ id, encryption: 'none' }] }] },
    vmess: { vnext: [{ ...server, users: [{ id, alterId: 0, security: cipher }] }] },
    shadowsocks: { servers: [{ ...server, method: cipher, password: key }] },
    hysteria2: {},
  };
  return settings[way.protocol];
}

function stream(way: Way, tlsSettings: () => object): object {
  if (isPlain(way)) return { network: 'tcp' };
  const { network, tls = false, earlyData = false, multi = false } = carrierOf(way);
  return {
    network,
    ...(network === 'ws' ? { wsSettings: { path: `/tunnel${earlyData ? '?ed=2048' : ''}` } } : {}),
    ...(network === 'grpc' ? { grpcSettings: { serviceName: 'Tunnel', multiMode: multi } } : {}),
    ...(tls ? { security: 'tls', tlsSettings: tlsSettings() } : {}),
  };
}

function serverTls(): object {
  const { certFile, keyFile } = certificate();
  return { certificates: [{ certificateFile: certFile, keyFile }] };
}

/** The authority is trusted as both have it: in a certificate of its own. */
function clientTls(): object {
  return {
    serverName: SERVER_NAME,
    disableSystemRoot: true,
    certificates: [{ usage: 'verify', certificate: certificate().ca.trim().split('\n') }],
  };
}
