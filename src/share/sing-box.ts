import {
  ShareError,
  VMESS_CIPHER,
  type SharedAccess,
  type SharedLogin,
  type SharedServer,
  type SharedStream,
  type SharedTls,
} from './shared-server.ts';

/**
 * A server as an outbound of sing-box (`option/` of SagerNet/sing-box). A pinned certificate is the authority that the
 * client trusts.
 * @throws {ShareError} for features that sing-box lacks
 */
export function singBoxOutbound(server: SharedServer): Readonly<Record<string, unknown>> {
  const { name: tag, host, port, access } = server;
  return {
    type: access.protocol,
    tag,
    server: host,
    server_port: port,
    ...settingsOf(access),
  };
}

function settingsOf(access: SharedAccess): object {
  switch (access.protocol) {
    case 'vless':
      return { uuid: access.id, ...streamOf(access.stream) };
    case 'vmess':
      return { uuid: access.id, security: VMESS_CIPHER, alter_id: 0, ...streamOf(access.stream) };
    case 'trojan':
      return { password: access.password, ...streamOf(access.stream) };
    case 'shadowsocks':
      return { method: access.method, password: access.password };
    case 'hysteria2': {
      const { auth, tls, obfuscation } = access;
      const obfs = { obfs: { type: 'salamander', password: obfuscation } };
      return { password: auth, ...(obfuscation === undefined ? {} : obfs), tls: tlsOf(tls) };
    }
    case 'socks':
      return { version: '5', ...loginOf(access.login) };
    case 'http':
      if (access.stream.carrier.kind !== 'raw') {
        throw new ShareError('sing-box has no HTTP over WebSocket or gRPC');
      }
      return { ...loginOf(access.login), ...streamOf(access.stream) };
    default:
      return access satisfies never;
  }
}

const loginOf = (login: SharedLogin | undefined): object =>
  login ? { username: login.user, password: login.pass } : {};

const streamOf = ({ tls, carrier }: SharedStream): object => ({
  ...(tls ? { tls: tlsOf(tls) } : {}),
  ...(carrier.kind === 'ws'
    ? {
        transport: {
          type: 'ws',
          path: carrier.path,
          ...(carrier.host === undefined ? {} : { headers: { Host: carrier.host } }),
        },
      }
    : {}),
  ...(carrier.kind === 'grpc'
    ? { transport: { type: 'grpc', service_name: carrier.serviceName } }
    : {}),
});

const tlsOf = ({ serverName, insecure, certificate }: SharedTls): object => ({
  enabled: true,
  server_name: serverName,
  ...(insecure ? { insecure: true } : {}),
  ...(certificate && !insecure ? { certificate: certificate.pem.trim().split('\n') } : {}),
});
