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
 * An outbound of Xray and v2ray (`infra/conf/` of XTLS/Xray-core).
 * @throws {ShareError} for Hysteria 2, whose form differs between versions of Xray.
 */
export function xrayOutbound(server: SharedServer): Readonly<Record<string, unknown>> {
  const { name: tag, host: address, port, access } = server;
  return { tag, protocol: access.protocol, ...settingsOf(access, { address, port }) };
}

interface Place {
  readonly address: string;
  readonly port: number;
}

function settingsOf(access: SharedAccess, place: Place): object {
  switch (access.protocol) {
    case 'vless': {
      const users = [{ id: access.id, encryption: 'none' }];
      return { settings: { vnext: [{ ...place, users }] }, ...streamOf(access.stream) };
    }
    case 'vmess': {
      const users = [{ id: access.id, security: VMESS_CIPHER }];
      return { settings: { vnext: [{ ...place, users }] }, ...streamOf(access.stream) };
    }
    case 'trojan':
      return {
        settings: { servers: [{ ...place, password: access.password }] },
        ...streamOf(access.stream),
      };
    case 'shadowsocks':
      return {
        settings: { servers: [{ ...place, method: access.method, password: access.password }] },
      };
    case 'socks':
      return { settings: { servers: [{ ...place, ...loginOf(access.login) }] } };
    case 'http':
      return {
        settings: { servers: [{ ...place, ...loginOf(access.login) }] },
        ...streamOf(access.stream),
      };
    case 'hysteria2':
      throw new ShareError('Hysteria 2 is not written for Xray');
    default:
      return access satisfies never;
  }
}

const loginOf = (login: SharedLogin | undefined): object => (login ? { users: [login] } : {});

function streamOf({ tls, carrier }: SharedStream): object {
  return {
    streamSettings: {
      network: carrier.kind === 'raw' ? 'tcp' : carrier.kind,
      ...(carrier.kind === 'ws'
        ? {
            wsSettings: {
              path: carrier.path,
              ...(carrier.host === undefined ? {} : { host: carrier.host }),
            },
          }
        : {}),
      ...(carrier.kind === 'grpc'
        ? {
            grpcSettings: {
              serviceName: carrier.serviceName,
              ...(carrier.authority === undefined ? {} : { authority: carrier.authority }),
            },
          }
        : {}),
      ...(tls ? { security: 'tls', tlsSettings: tlsOf(tls) } : {}),
    },
  };
}

/**
 * Recent versions have no `allowInsecure`: a known certificate is pinned, whether or not the client
 * would be allowed to accept any.
 */
const tlsOf = ({ serverName, insecure, certificate }: SharedTls): object => ({
  serverName,
  ...(certificate ? { pinnedPeerCertSha256: certificate.sha256 } : {}),
  ...(insecure && !certificate ? { allowInsecure: true } : {}),
});
