import { GRPC_TLS, TLS, WS_TLS, carriesDatagrams, type Way } from '../support/ways/way.ts';

/** A way from the client's Weir to the server's, with the tag that it has in both configurations. */
export interface Tunnel {
  readonly tag: string;
  readonly way: Way;
}

const tunnel = (tag: string, way: Way): Tunnel => ({ tag, way });

/** Every protocol, and every carrier below at least one of them. */
export const TUNNELS: readonly Tunnel[] = [
  tunnel('socks', { protocol: 'socks', login: true }),
  tunnel('http', { protocol: 'http', login: true }),
  tunnel('http-tls', { protocol: 'http', carrier: TLS }),
  tunnel('trojan-tls', { protocol: 'trojan', carrier: TLS }),
  tunnel('trojan-ws-tls', { protocol: 'trojan', carrier: WS_TLS }),
  tunnel('trojan-grpc', { protocol: 'trojan', carrier: { network: 'grpc' } }),
  tunnel('vless', { protocol: 'vless' }),
  tunnel('vless-ws', { protocol: 'vless', carrier: { network: 'ws' } }),
  tunnel('vless-ws-early', { protocol: 'vless', carrier: { ...WS_TLS, earlyData: true } }),
  tunnel('vless-grpc-tls', { protocol: 'vless', carrier: GRPC_TLS }),
  tunnel('vmess', { protocol: 'vmess', cipher: 'aes-128-gcm' }),
  tunnel('vmess-tls', { protocol: 'vmess', cipher: 'chacha20-poly1305', carrier: TLS }),
  tunnel('vmess-ws', { protocol: 'vmess', cipher: 'aes-128-gcm', carrier: { network: 'ws' } }),
  tunnel('vmess-grpc-tls', { protocol: 'vmess', cipher: 'aes-128-gcm', carrier: GRPC_TLS }),
  tunnel('ss-aes', { protocol: 'shadowsocks', cipher: 'aes-128-gcm' }),
  tunnel('ss-users', { protocol: 'shadowsocks', cipher: 'chacha20-ietf-poly1305', users: true }),
  tunnel('ss-2022', { protocol: 'shadowsocks', cipher: '2022-blake3-chacha20-poly1305' }),
  tunnel('ss-2022-users', {
    protocol: 'shadowsocks',
    cipher: '2022-blake3-aes-256-gcm',
    users: true,
  }),
  tunnel('hysteria2', { protocol: 'hysteria2' }),
];

/** Whose server listens for datagrams. */
export const isOverQuic = ({ way }: Tunnel): boolean => way.protocol === 'hysteria2';

/** Those with a password or key at the inbound, so that a client can have a wrong one. */
export const hasSecret = ({ way }: Tunnel): boolean =>
  way.login === true || (way.protocol !== 'socks' && way.protocol !== 'http');

/** @param shadowsocks whether datagrams over Shadowsocks count. */
export const takesDatagrams = ({ way }: Tunnel, shadowsocks: boolean): boolean =>
  carriesDatagrams(way) && (shadowsocks || way.protocol !== 'shadowsocks');
