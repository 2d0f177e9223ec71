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
 * A server as an outbound of Xray and v2ray (`infra/conf/` of XTLS/Xray-core).
 * @throws {ShareError} for features that Xray lacks
 */
export function xrayOutbound(server: SharedServer): Readonly<Record<string, unknown>> {
  const { name: tag, host: address, port, access } = server;
  const protocol = access.protocol === 'hysteria2' ? 'hysteria' : access.protocol;
  return { tag, protocol, ...settingsOf(access, { address, port }) };
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
      return hysteriaOf(access, place);
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

/** Settings of Hysteria 2 for Xray 26 and later, none of which accepts any certificate. */
function hysteriaOf(
  { auth, tls, obfuscation }: Extract<SharedAccess, { readonly protocol: 'hysteria2' }>,
  place: Place,
): object {
  if (tls.insecure && !tls.certificate) {
    throw new ShareError('Xray with Hysteria 2 cannot accept any certificate');
  }
  const salamander = { type: 'salamander', settings: { password: obfuscation } };
  return {
    settings: { version: 2, ...place },
    streamSettings: {
      network: 'hysteria',
      hysteriaSettings: { version: 2, auth },
      ...(obfuscation === undefined ? {} : { finalmask: { udp: [salamander] } }),
      security: 'tls',
      tlsSettings: { ...tlsOf(tls), alpn: ['h3'] },
    },
  };
}

/**
 * TLS settings. Recent versions have no `allowInsecure`: a known certificate is pinned, even if the client may accept
 * any.
 */
const tlsOf = ({ serverName, insecure, certificate }: SharedTls): object => ({
  serverName,
  ...(certificate ? { pinnedPeerCertSha256: certificate.sha256 } : {}),
  ...(insecure && !certificate ? { allowInsecure: true } : {}),
});
