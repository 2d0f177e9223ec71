import { replaceUnprintable } from '../printable.ts';
import {
  ShareError,
  VMESS_CIPHER,
  type SharedAccess,
  type SharedLogin,
  type SharedServer,
  type SharedStream,
  type SharedTls,
} from './shared-server.ts';

/** A YAML document with the `proxies` of Clash and mihomo, one per line in flow style. */
export const clashDocument = (proxies: readonly object[]): string =>
  `proxies:\n${proxies.map((proxy) => `  - ${flowText(proxy)}\n`).join('')}`;

/** Formats a value as JSON, which is YAML and quotes all texts, so that no reader parses them as numbers. */
const flowText = (value: object): string =>
  replaceUnprintable(
    JSON.stringify(value),
    (codePoint) => String.raw`\U${codePoint.toString(16).padStart(8, '0')}`,
  );

/**
 * A server as a proxy of mihomo (`adapter/outbound/` of MetaCubeX/mihomo).
 * @throws {ShareError} for features that mihomo lacks
 */
export function clashProxy(server: SharedServer): Readonly<Record<string, unknown>> {
  const { name, host, port, access } = server;
  return { name, type: TYPES[access.protocol], server: host, port, ...settingsOf(access) };
}

const TYPES = {
  vless: 'vless',
  vmess: 'vmess',
  trojan: 'trojan',
  shadowsocks: 'ss',
  hysteria2: 'hysteria2',
  socks: 'socks5',
  http: 'http',
} as const satisfies Record<SharedAccess['protocol'], string>;

function settingsOf(access: SharedAccess): object {
  switch (access.protocol) {
    case 'vless':
      return { uuid: access.id, udp: true, ...switchedTls(access.stream, 'servername') };
    case 'vmess':
      return {
        uuid: access.id,
        alterId: 0,
        cipher: VMESS_CIPHER,
        udp: true,
        ...switchedTls(access.stream, 'servername'),
      };
    case 'trojan': {
      const { tls } = access.stream;
      if (!tls) throw new ShareError('Clash has no Trojan without TLS');
      const { password, stream } = access;
      return { password, udp: true, ...tlsOf(tls, 'sni'), ...transportOf(stream) };
    }
    case 'shadowsocks':
      return { cipher: access.method, password: access.password, udp: true };
    case 'hysteria2':
      return {
        password: access.auth,
        ...(access.obfuscation === undefined
          ? {}
          : { obfs: 'salamander', 'obfs-password': access.obfuscation }),
        ...tlsOf(access.tls, 'sni'),
      };
    case 'socks':
      return { ...loginOf(access.login), udp: true };
    case 'http':
      if (access.stream.carrier.kind !== 'raw') {
        throw new ShareError('Clash has no HTTP over WebSocket or gRPC');
      }
      return { ...loginOf(access.login), ...switchedTls(access.stream, 'sni') };
    default:
      return access satisfies never;
  }
}

const loginOf = (login: SharedLogin | undefined): object =>
  login ? { username: login.user, password: login.pass } : {};

/** TLS and transport of a proxy type in which TLS is optional. */
const switchedTls = (stream: SharedStream, name: 'servername' | 'sni'): object => ({
  ...(stream.tls ? { tls: true, ...tlsOf(stream.tls, name) } : {}),
  ...transportOf(stream),
});

const tlsOf = (
  { serverName, insecure, certificate }: SharedTls,
  name: 'servername' | 'sni',
): object => ({
  [name]: serverName,
  ...(insecure ? { 'skip-cert-verify': true } : {}),
  ...(certificate && !insecure ? { fingerprint: withColons(certificate.sha256) } : {}),
});

/** Hex digits with colons, as OpenSSL prints them and the JSON Schema of editors demands (meta-json-schema). */
const withColons = (hex: string): string =>
  hex.toUpperCase().replaceAll(/..(?=.)/g, (byte) => `${byte}:`);

function transportOf({ carrier }: SharedStream): object {
  switch (carrier.kind) {
    case 'raw':
      return {};
    case 'ws': {
      const { path, host } = carrier;
      const headers = host === undefined ? {} : { headers: { Host: host } };
      return { network: 'ws', 'ws-opts': { path, ...headers } };
    }
    case 'grpc':
      return { network: 'grpc', 'grpc-opts': { 'grpc-service-name': carrier.serviceName } };
    default:
      return carrier satisfies never;
  }
}
