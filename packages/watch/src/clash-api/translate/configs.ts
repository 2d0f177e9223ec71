import type { InboundStatus } from '@weir/server/control';
import { ipVersion } from '@weir/io/addresses';
import { isLoopbackHost } from '@weir/base/ip';
import type { ClashFacts } from './facts.ts';

/** The only mode of Weir, as mihomo calls it. */
export const MODE = 'rule';

/**
 * The body of `GET /configs`. Of mihomo's settings it has those with an equivalent in Weir; the others have the values
 * of disabled features.
 */
export function clashConfigs({ status, spec }: ClashFacts): Readonly<Record<string, unknown>> {
  const inbounds = status?.inbounds ?? [];
  const local = inbounds.filter(({ protocol }) => protocol === 'socks' || protocol === 'http');
  const device = inbounds.find(({ protocol }) => protocol === 'tun');
  return {
    port: portOf(local, 'http'),
    'socks-port': portOf(local, 'socks'),
    'redir-port': 0,
    'tproxy-port': 0,
    'mixed-port': 0,
    tun: { enable: device !== undefined, device: device?.address ?? '' },
    authentication: null,
    'skip-auth-prefixes': null,
    'lan-allowed-ips': null,
    'lan-disallowed-ips': null,
    'allow-lan': local.some(({ address }) => !isLoopback(address)),
    'bind-address': '*',
    'inbound-tfo': false,
    'inbound-mptcp': false,
    mode: MODE,
    // As in sing-box: dashboards then offer no other modes.
    modes: [MODE],
    'mode-list': [MODE],
    'unified-delay': false,
    'log-level': logLevelOf(status?.log_filter ?? spec?.log.level),
    ipv6: true,
    'interface-name': '',
    'routing-mark': 0,
    'geox-url': { 'geo-ip': '', mmdb: '', asn: '', 'geo-site': '' },
    'geo-auto-update': false,
    'geo-update-interval': 0,
    'geodata-mode': false,
    'geodata-loader': '',
    'geosite-matcher': '',
    'tcp-concurrent': true,
    'find-process-mode': 'off',
    sniffing: spec?.inbounds.some(({ sniffing }) => sniffing) ?? false,
    'global-client-fingerprint': '',
    'global-ua': '',
    'etag-support': false,
    'keep-alive-idle': 0,
    'keep-alive-interval': 0,
    'disable-keep-alive': false,
  };
}

/** The port of the first inbound of a protocol; 0 for none. */
function portOf(inbounds: readonly InboundStatus[], protocol: string): number {
  const { address = '' } = inbounds.find((inbound) => inbound.protocol === protocol) ?? {};
  const port = /:(\d{1,5})$/.exec(address)?.[1];
  return port === undefined ? 0 : Number(port);
}

/** Whether only this host can connect to an address; unix sockets are included. */
function isLoopback(address: string): boolean {
  const host = address.replace(/:\d{1,5}$/, '');
  return ipVersion(host.replace(/^\[(.*)\]$/, '$1')) === 0 || isLoopbackHost(host);
}

/** Weir's log filters for mihomo's levels. */
export const LOG_FILTERS: ReadonlyMap<string, string> = new Map([
  ['debug', 'debug'],
  ['info', 'info'],
  ['warning', 'warn'],
  ['error', 'error'],
  ['silent', 'off'],
]);

/** mihomo's level for a filter in the syntax of RUST_LOG: that of the filter's part without a target. */
function logLevelOf(filter = 'info'): string {
  const bare = filter.split(',').findLast((part) => !part.includes('=')) ?? '';
  const level = bare.trim().toLowerCase();
  if (level === 'trace') return 'debug';
  for (const [name, own] of LOG_FILTERS) if (own === level) return name;
  return 'info';
}
