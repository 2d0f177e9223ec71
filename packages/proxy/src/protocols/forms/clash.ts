import {
  bareHost,
  ImportError,
  streamOf,
  toPort,
  type NamedServer,
  type StreamDraft,
  type Tls,
  type Transport,
  type withNameOfHost,
} from './draft.ts';
import type { ForeignObject } from './foreign-object.ts';
import type { SharedStream, SharedTls } from './shared-server.ts';

/* Parts of a proxy of mihomo (`adapter/outbound/` of MetaCubeX/mihomo), read and written. */

export const serverIn = (fields: ForeignObject, name: string): NamedServer => ({
  name,
  server: bareHost(fields.needText('server')),
  port: toPort(fields.text('port')),
});

/**
 * Whether a `fingerprint` names a browser, as in documents older than `client-fingerprint`; mihomo rejects it as a
 * hash.
 */
export const isBrowser = (value: unknown): boolean =>
  typeof value === 'string' &&
  /^(?:chrome|firefox|safari|ios|android|edge|360|qq|random|randomized)$/i.test(value);

export function tlsIn(fields: ForeignObject): Tls {
  if (fields.fields('reality-opts').firstText('public-key') !== undefined) {
    throw new ImportError('REALITY is not supported');
  }
  const isPinned =
    !isBrowser(fields.peek('fingerprint')) && fields.firstText('fingerprint') !== undefined;
  return {
    serverName: fields.firstText('servername', 'sni'),
    allowInsecure: fields.flag('skip-cert-verify'),
    pinnedBy: isPinned ? 'fingerprint' : undefined,
  };
}

/** @param named completes the TLS settings for a transport */
export function streamIn(
  fields: ForeignObject,
  isTls: boolean,
  named: typeof withNameOfHost = (tls) => tls,
): StreamDraft | undefined {
  const ws = fields.fields('ws-opts');
  if (ws.flag('v2ray-http-upgrade')) throw new ImportError('HTTP upgrade is not supported');
  const transport: Transport = {
    kind: fields.text('network') ?? '',
    path: ws.text('path'),
    host: ws.fields('headers').header('Host'),
    earlyData: {
      key: 'ws-opts.max-early-data',
      bytes: ws.number('max-early-data'),
      header: ws.text('early-data-header-name'),
    },
    // mihomo's default (`transport/gun/gun.go`).
    serviceName: fields.fields('grpc-opts').firstText('grpc-service-name') ?? 'GunService',
  };
  return streamOf(transport, named(isTls ? tlsIn(fields) : undefined, transport));
}

/** TLS and transport of a proxy type in which TLS is optional. */
export const streamForm = (stream: SharedStream, name: 'servername' | 'sni'): object => ({
  ...(stream.tls ? { tls: true, ...tlsForm(stream.tls, name) } : {}),
  ...transportForm(stream),
});

export const tlsForm = (
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

export function transportForm({ carrier }: SharedStream): object {
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
