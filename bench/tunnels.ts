import { certificate, SERVER_NAME } from './certificate.ts';

/** A way between a client and a server, as each program's configuration writes it. */
export interface Tunnel {
  /** In the names of cases: `tunnel-NAME-down`. */
  readonly name: string;
  readonly title: string;
  readonly protocol: 'trojan' | 'vless' | 'vmess' | 'shadowsocks';
  /** The cipher of VMess or the method of Shadowsocks. */
  readonly cipher?: string;
  /** Of Shadowsocks. */
  readonly password?: string;
  /** What carries the protocol, always in TLS; absent: plain TCP. */
  readonly carrier?: 'tls' | 'ws' | 'grpc';
}

const ID = 'b831381d-6324-4d53-ad4f-8cda48b30811';
const PASSWORD = 'correct horse: battery';
const KEY16 = Buffer.alloc(16, 'weir').toString('base64');
const KEY32 = Buffer.alloc(32, 'weir').toString('base64');

const vmess = (name: string, cipher: string): Tunnel => ({
  name: `vmess-${name}`,
  title: `VMess ${cipher}`,
  protocol: 'vmess',
  cipher,
});

const shadowsocks = (name: string, cipher: string, password = PASSWORD): Tunnel => ({
  name: `ss${name}`,
  title: `Shadowsocks ${cipher}`,
  protocol: 'shadowsocks',
  cipher,
  password,
});

export const TUNNELS: readonly Tunnel[] = [
  { name: 'trojan-tls', title: 'Trojan over TLS', protocol: 'trojan', carrier: 'tls' },
  { name: 'vless-ws', title: 'VLESS over WebSocket over TLS', protocol: 'vless', carrier: 'ws' },
  { name: 'vless-grpc', title: 'VLESS over gRPC over TLS', protocol: 'vless', carrier: 'grpc' },
  vmess('aes128', 'aes-128-gcm'),
  vmess('chacha20', 'chacha20-poly1305'),
  shadowsocks('-aes128', 'aes-128-gcm'),
  shadowsocks('-aes256', 'aes-256-gcm'),
  // The one name that all of them know.
  shadowsocks('-chacha20', 'chacha20-ietf-poly1305'),
  shadowsocks('2022-aes128', '2022-blake3-aes-128-gcm', KEY16),
  shadowsocks('2022-aes256', '2022-blake3-aes-256-gcm', KEY32),
  shadowsocks('2022-chacha20', '2022-blake3-chacha20-poly1305', KEY32),
];

/** Shadowsocks of 2022, which only the younger programs have. */
export const isModern = ({ cipher = '' }: Tunnel): boolean => cipher.startsWith('2022-');

/** Weir's inbound `tunnel`, at a port that the kernel chooses. */
export const weirIn = (tunnel: Tunnel): string => {
  const settings = {
    trojan: `users = [{ password = "${PASSWORD}" }]`,
    vless: `users = [{ id = "${ID}" }]`,
    vmess: `users = [{ id = "${ID}" }]`,
    shadowsocks: `method = "${tunnel.cipher}"\npassword = "${tunnel.password}"`,
  }[tunnel.protocol];
  return (
    `[[inbound]]\ntag = "tunnel"\nprotocol = "${tunnel.protocol}"\nport = 0\n` +
    `[inbound.settings]\n${settings}\n${weirStream('inbound', tunnel)}`
  );
};

/** Weir's outbound to the server at `port`. */
export const weirOut = (tunnel: Tunnel, port: number): string => {
  const settings = {
    trojan: `password = "${PASSWORD}"`,
    vless: `id = "${ID}"`,
    vmess: `id = "${ID}"\nsecurity = "${tunnel.cipher}"`,
    shadowsocks: `method = "${tunnel.cipher}"\npassword = "${tunnel.password}"`,
  }[tunnel.protocol];
  return (
    `[[outbound]]\ntag = "tunnel"\nprotocol = "${tunnel.protocol}"\n` +
    `server = "127.0.0.1"\nport = ${port}\n` +
    `[outbound.settings]\n${settings}\n${weirStream('outbound', tunnel)}`
  );
};

function weirStream(side: 'inbound' | 'outbound', { carrier }: Tunnel): string {
  if (carrier === undefined) return '';
  const lines = [`[${side}.stream]`, `network = "${carrier}"`];
  if (carrier !== 'tls') lines.push('security = "tls"');
  if (carrier === 'ws') lines.push('ws.path = "/tunnel"');
  if (carrier === 'grpc') lines.push('grpc.service_name = "Tunnel"');
  const { certFile, keyFile } = certificate();
  lines.push(
    side === 'inbound'
      ? `tls = { cert_file = "${certFile}", key_file = "${keyFile}" }`
      : `tls = { server_name = "${SERVER_NAME}", allow_insecure = true }`,
  );
  return `${lines.join('\n')}\n`;
}

/** v2ray's and Xray's inbound. */
export function rayIn(tunnel: Tunnel): object {
  const settings = {
    trojan: { clients: [{ password: PASSWORD }] },
    vless: { clients: [{ id: ID }], decryption: 'none' },
    vmess: { clients: [{ id: ID, alterId: 0 }] },
    shadowsocks: { method: tunnel.cipher, password: tunnel.password, network: 'tcp,udp' },
  }[tunnel.protocol];
  return { protocol: tunnel.protocol, settings, streamSettings: rayStream(tunnel, serverTls) };
}

/** v2ray's and Xray's outbound to the server at `port`. */
export function rayOut(tunnel: Tunnel, port: number, name: 'v2ray' | 'xray'): object {
  const server = { address: '127.0.0.1', port };
  const { cipher, password } = tunnel;
  const settings = {
    trojan: { servers: [{ ...server, password: PASSWORD }] },
    vless: { vnext: [{ ...server, users: [{ id: ID, encryption: 'none' }] }] },
    vmess: { vnext: [{ ...server, users: [{ id: ID, alterId: 0, security: cipher }] }] },
    shadowsocks: { servers: [{ ...server, method: cipher, password }] },
  }[tunnel.protocol];
  const tls = name === 'v2ray' ? careless : trusting;
  return { protocol: tunnel.protocol, settings, streamSettings: rayStream(tunnel, tls) };
}

function rayStream({ carrier }: Tunnel, tls: () => object): object {
  if (carrier === undefined) return { network: 'tcp' };
  return {
    network: carrier === 'tls' ? 'tcp' : carrier,
    ...(carrier === 'ws' ? { wsSettings: { path: '/tunnel' } } : {}),
    ...(carrier === 'grpc' ? { grpcSettings: { serviceName: 'Tunnel' } } : {}),
    security: 'tls',
    tlsSettings: tls(),
  };
}

const serverTls = (): object => {
  const { certFile, keyFile } = certificate();
  return { certificates: [{ certificateFile: certFile, keyFile }] };
};

const careless = (): object => ({ serverName: SERVER_NAME, allowInsecure: true });

/** Younger versions of Xray have no `allowInsecure`, but trust what they are given. */
const trusting = (): object => ({
  serverName: SERVER_NAME,
  disableSystemRoot: true,
  certificates: [{ usage: 'verify', certificate: certificate().cert.trim().split('\n') }],
});
