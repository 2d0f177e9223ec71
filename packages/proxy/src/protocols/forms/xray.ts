import {
  bareHost,
  ImportError,
  streamOf,
  toPort,
  type NamedServer,
  type StreamDraft,
  type Tls,
} from './draft.ts';
import { ForeignObject, isEmpty } from './foreign-object.ts';
import type { SharedStream, SharedTls } from './shared-server.ts';

/* Parts of an outbound of Xray and v2ray (`infra/conf/` of XTLS/Xray-core), read and written. */

/** The server's settings. Newer configurations have the one server in the settings themselves. */
export const serverOf = (settings: ForeignObject, list: 'vnext' | 'servers'): ForeignObject =>
  settings.states(list) ? settings.only(list) : settings;

export const userOf = (server: ForeignObject): ForeignObject =>
  server.states('users') ? server.only('users') : server;

export const placeOf = (server: ForeignObject, name: string): NamedServer => ({
  name,
  server: bareHost(server.needText('address')),
  port: toPort(server.text('port')),
});

/** The transport of a stream, for which Xray 26 prefers the key `method`; empty for TCP. */
export function transportOf(stream: ForeignObject): string {
  const network = stream.text('network');
  return stream.firstText('method') ?? network ?? '';
}

export function streamIn(outbound: ForeignObject): StreamDraft | undefined {
  const stream = outbound.fields('streamSettings');
  const ws = stream.fields('wsSettings');
  const grpc = stream.fields('grpcSettings');
  for (const key of ['tcpSettings', 'rawSettings']) {
    const header = stream.fields(key).fields('header').text('type') ?? 'none';
    if (header !== 'none') {
      throw new ImportError(`the header type ${JSON.stringify(header)} is not supported`);
    }
  }
  const kind = transportOf(stream);
  return streamOf(
    {
      kind,
      path: ws.text('path'),
      host: ws.firstText('host') ?? ws.fields('headers').header('Host'),
      serviceName: grpc.text('serviceName'),
      authority: grpc.text('authority'),
    },
    tlsIn(stream),
  );
}

export function tlsIn(stream: ForeignObject): Tls | undefined {
  const security = (stream.text('security') ?? '').toLowerCase();
  if (security === '' || security === 'none') return undefined;
  if (security === 'reality') throw new ImportError('REALITY is not supported');
  if (security !== 'tls')
    throw new ImportError(`the security ${JSON.stringify(security)} is not supported`);
  const tls = stream.fields('tlsSettings');
  const pin = PINS.find((key) => tls.list(key).some((each) => !isEmpty(each)));
  return {
    serverName: tls.text('serverName'),
    allowInsecure: tls.flag('allowInsecure'),
    caFile: caFileOf(tls),
    pinnedBy: pin && `streamSettings.tlsSettings.${pin}`,
  };
}

/** Keys with the hash of a certificate, or in older versions of a chain or a public key. */
const PINS = [
  'pinnedPeerCertSha256',
  'pinnedPeerCertificateSha256',
  'pinnedPeerCertificateChainSha256',
  'pinnedPeerCertificatePublicKeySha256',
] as const;

/** The CA file of TLS settings. Certificates for uses other than `verify` are the client's own, or a server's. */
function caFileOf(tls: ForeignObject): string | undefined {
  const certificates = tls
    .entries('certificates')
    .filter((each) => !isEmpty(each))
    .map((each) => new ForeignObject(each));
  const [first, ...others] = certificates;
  if (!first) return undefined;
  const file = first.firstText('certificateFile');
  if (first.text('usage') !== 'verify' || others.length > 0) {
    throw new ImportError('certificates of the client are not supported');
  }
  if (file === undefined) {
    throw new ImportError('certificates: write the CA to a file, and its name as ca_file');
  }
  return file;
}

export function streamForm({ tls, carrier }: SharedStream): object {
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
      ...(tls ? { security: 'tls', tlsSettings: tlsForm(tls) } : {}),
    },
  };
}

/**
 * TLS settings. Recent versions have no `allowInsecure`: a known certificate is pinned, even if the client may accept
 * any.
 */
export const tlsForm = ({ serverName, insecure, certificate }: SharedTls): object => ({
  serverName,
  ...(certificate ? { pinnedPeerCertSha256: certificate.sha256 } : {}),
  ...(insecure && !certificate ? { allowInsecure: true } : {}),
});
