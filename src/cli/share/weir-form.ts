import type { Draft, StreamDraft } from '../../import/draft.ts';
import { outboundText } from '../../import/write/tables.ts';
import type {
  SharedAccess,
  SharedServer,
  SharedStream,
  SharedTls,
} from '../../share/shared-server.ts';

/** Path of a file with a certificate that no authority vouches for, which the form cannot contain. */
export type CaFile = string | undefined;

/** A server as an `[[outbound]]` of Weir. @param caFile the path of the server's certificate on the client */
export const weirOutbound = (server: SharedServer, tag: string, caFile: CaFile): string =>
  outboundText(tag, draftOf(server, caFile));

function draftOf({ name, host, port, access }: SharedServer, caFile: CaFile): Draft {
  const place = { name, server: host, port, protocol: access.protocol };
  return { ...place, ...settingsOf(access, caFile) };
}

function settingsOf(access: SharedAccess, caFile: CaFile): Pick<Draft, 'settings' | 'stream'> {
  switch (access.protocol) {
    case 'vless':
    case 'vmess':
      return { settings: { id: access.id }, stream: streamOf(access.stream, caFile) };
    case 'trojan':
      return { settings: { password: access.password }, stream: streamOf(access.stream, caFile) };
    case 'shadowsocks':
      return { settings: { method: access.method, password: access.password } };
    case 'hysteria2': {
      const { auth, tls, obfuscation } = access;
      const obfs = obfuscation === undefined ? undefined : 'salamander';
      return {
        settings: { password: auth, ...tlsOf(tls, caFile), obfs, obfs_password: obfuscation },
      };
    }
    case 'socks':
      return { settings: { ...access.login } };
    case 'http':
      return { settings: { ...access.login }, stream: streamOf(access.stream, caFile) };
    default:
      return access satisfies never;
  }
}

function streamOf({ tls, carrier }: SharedStream, caFile: CaFile): StreamDraft | undefined {
  const table = tls && tlsOf(tls, caFile);
  const below = { security: tls ? 'tls' : undefined, tls: table } as const;
  switch (carrier.kind) {
    case 'raw':
      return tls && { network: 'tls', tls: table };
    case 'ws':
      return { network: 'ws', ...below, ws: { path: carrier.path, host: carrier.host } };
    case 'grpc': {
      const { serviceName, authority } = carrier;
      return { network: 'grpc', ...below, grpc: { service_name: serviceName, authority } };
    }
    default:
      return carrier satisfies never;
  }
}

const tlsOf = (
  { serverName, insecure, certificate }: SharedTls,
  caFile: CaFile,
): NonNullable<StreamDraft['tls']> => ({
  server_name: serverName,
  allow_insecure: insecure ? true : undefined,
  ca_file: certificate && !insecure ? caFile : undefined,
});
