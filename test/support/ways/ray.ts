import { portOf, type Address } from '../address.ts';
import { certificate, SERVER_NAME } from './certificate.ts';
import { ID, LOGIN, PASSWORD, shadowsocksSecrets } from './secrets.ts';
import { carrierOf, isPlain, type Way } from './way.ts';

/** How v2ray and Xray, whose configurations are alike, write a way. */

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
  switch (way.protocol) {
    case 'socks':
      return way.login === true
        ? { auth: 'password', accounts: [LOGIN], udp: true, ip: '127.0.0.1' }
        : RAY_SOCKS_IN.settings;
    case 'http':
      return way.login === true ? { accounts: [LOGIN] } : {};
    case 'trojan':
      return { clients: [{ password: PASSWORD }] };
    case 'vless':
      return { clients: [{ id: ID }], decryption: 'none' };
    case 'vmess':
      return { clients: [{ id: ID, alterId: 0 }] };
    case 'shadowsocks': {
      const { cipher: method } = way;
      const { server: password, users } = shadowsocksSecrets(way);
      // The younger edition takes the method from the server, the older one from each user.
      const clients = users.map((user, i) => ({ method, password: user, email: `user${i}@x` }));
      return { method, password, network: 'tcp,udp', ...(users.length > 0 ? { clients } : {}) };
    }
  }
}

function outboundSettings(way: Way, port: number): object {
  const server = { address: '127.0.0.1', port };
  switch (way.protocol) {
    case 'socks':
    case 'http':
      return { servers: [{ ...server, users: way.login === true ? [LOGIN] : [] }] };
    case 'trojan':
      return { servers: [{ ...server, password: PASSWORD }] };
    case 'vless':
      return { vnext: [{ ...server, users: [{ id: ID, encryption: 'none' }] }] };
    case 'vmess':
      return { vnext: [{ ...server, users: [{ id: ID, alterId: 0, security: way.cipher }] }] };
    case 'shadowsocks':
      return {
        servers: [{ ...server, method: way.cipher, password: shadowsocksSecrets(way).client }],
      };
  }
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
