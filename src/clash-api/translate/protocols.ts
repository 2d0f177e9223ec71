/** mihomo's names for the types of outbounds and inbounds. */

const OUTBOUNDS: Readonly<Record<string, string>> = {
  freedom: 'Direct',
  direct: 'Direct',
  blackhole: 'Reject',
  socks: 'Socks5',
  http: 'Http',
  shadowsocks: 'Shadowsocks',
  vmess: 'Vmess',
  vless: 'Vless',
  trojan: 'Trojan',
  hysteria2: 'Hysteria2',
  wireguard: 'WireGuard',
};

const INBOUNDS: Readonly<Record<string, string>> = {
  socks: 'Socks5',
  http: 'HTTP',
  shadowsocks: 'ShadowSocks',
  vmess: 'Vmess',
  vless: 'Vless',
  trojan: 'Trojan',
  hysteria2: 'Hysteria2',
  tun: 'Tun',
};

const UNKNOWN = 'Unknown';

/** mihomo's type of an outbound. @param protocol `undefined` if the configuration could not be read */
export const outboundType = (protocol: string | undefined): string =>
  OUTBOUNDS[protocol ?? ''] ?? UNKNOWN;

export const inboundType = (protocol: string | undefined): string =>
  INBOUNDS[protocol ?? ''] ?? UNKNOWN;

/** Whether an outbound carries datagrams: all do but HTTP proxies. */
export const carriesUdp = (protocol: string | undefined): boolean => protocol !== 'http';
