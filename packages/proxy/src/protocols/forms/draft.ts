import { ipVersion } from '@weir/io/addresses';
import { printable, quoted } from '@weir/base/printable';
import { WeirError } from '@weir/base';

/** The types of values in settings of outbounds. */
export type SettingValue = string | number | boolean | readonly (string | number)[];

export type Settings = Readonly<Record<string, SettingValue | undefined>>;

/** The table `[outbound.stream]`; `undefined` keys are left out. */
export interface StreamDraft {
  readonly network: 'tls' | 'ws' | 'grpc';
  readonly security?: 'tls' | undefined;
  readonly tls?: Settings | undefined;
  readonly ws?: Settings | undefined;
  readonly grpc?: Settings | undefined;
  /** Settings of the transport that are not carried over. */
  readonly notes?: readonly string[];
  /** The key that pins the certificate, as in `Tls`. */
  readonly pinnedBy?: string;
}

/** An outbound converted from another program's document. */
export interface Draft {
  /** Name in the document; may be empty or not unique. */
  readonly name: string;
  readonly protocol: string;
  readonly server?: string | undefined;
  readonly port?: number | undefined;
  /** `address_family`; the default if it is left out. */
  readonly family?: string | undefined;
  readonly stream?: StreamDraft | undefined;
  readonly settings: Settings;
  /** Settings of the document that the outbound lacks, as texts for the user. */
  readonly notes?: readonly string[];
  /** The key that pins the certificate, as in `Tls`, where that is a setting of the protocol. */
  readonly pinnedBy?: string | undefined;
}

/** The address of a server, and its name in the document. */
export type NamedServer = Pick<Draft, 'name' | 'server' | 'port'>;

/** Why a server cannot be imported; the message has no secrets. */
export class ImportError extends WeirError {
  constructor(message: string) {
    super('import', printable(message));
  }
}

/** Early data of a WebSocket. */
interface EarlyData {
  /** The key of the document that enables it. */
  readonly key: string;
  readonly bytes: number | undefined;
  /** The header that carries it; without one it is a part of the path. */
  readonly header: string | undefined;
}

/** The transport of a protocol, in terms that all programs share. */
export interface Transport {
  /** The type as in the document; empty for TCP. */
  readonly kind: string;
  readonly path?: string | undefined;
  readonly host?: string | undefined;
  readonly earlyData?: EarlyData | undefined;
  readonly serviceName?: string | undefined;
  readonly authority?: string | undefined;
}

export interface Tls {
  readonly serverName?: string | undefined;
  readonly allowInsecure?: boolean | undefined;
  /** Path of a PEM file. */
  readonly caFile?: string | undefined;
  /** The key that pins the hash of the certificate or of its public key, if there is one. */
  readonly pinnedBy?: string | undefined;
}

const WEBSOCKET: ReadonlySet<string> = new Set(['ws', 'websocket']);
const TCP: ReadonlySet<string> = new Set(['', 'tcp', 'raw', 'none']);

/**
 * The stream table of a transport; `undefined` for plain TCP.
 * @throws {ImportError} for an unsupported transport
 */
export function streamOf(transport: Transport, tls: Tls | undefined): StreamDraft | undefined {
  const kind = transport.kind.trim().toLowerCase();
  const table = tls && tlsSettings(tls);
  const security = tls ? 'tls' : undefined;
  const pinned = tls?.pinnedBy === undefined ? {} : { pinnedBy: tls.pinnedBy };
  if (TCP.has(kind)) return tls && { network: 'tls', tls: table, ...pinned };
  if (WEBSOCKET.has(kind)) {
    const { host, earlyData } = transport;
    const path = transport.path || '/';
    const bytes = /[?&]ed=/.test(path) ? 0 : (earlyData?.bytes ?? 0);
    const canBeSent = (earlyData?.header ?? '').toLowerCase() === 'sec-websocket-protocol';
    return {
      network: 'ws',
      security,
      tls: table,
      ws: {
        path: bytes > 0 && canBeSent ? `${withQuery(path)}ed=${bytes}` : path,
        host: host === '' ? undefined : host,
      },
      ...(bytes > 0 && !canBeSent && { notes: [notEarly(earlyData?.key ?? '')] }),
      ...pinned,
    };
  }
  if (kind === 'grpc') {
    const { serviceName = '', authority } = transport;
    if (serviceName === '') throw new ImportError('gRPC without a service name');
    if (serviceName.startsWith('/')) {
      throw new ImportError('gRPC with a path of its own is not supported');
    }
    return {
      network: 'grpc',
      security,
      tls: table,
      grpc: { service_name: serviceName, authority: authority === '' ? undefined : authority },
      ...pinned,
    };
  }
  throw new ImportError(`the transport ${JSON.stringify(transport.kind)} is not supported`);
}

const notEarly = (key: string): string =>
  `${quoted(key)} is not carried over: Weir sends early data in the header Sec-WebSocket-Protocol alone, and servers do without`;

/**
 * Completes TLS below a WebSocket for programs that default the TLS server name to the Host header (mihomo,
 * `adapter/outbound/vmess.go`; v2rayN). An address, or a list of hosts, is not used as a name.
 */
export function withNameOfHost(
  tls: Tls | undefined,
  { kind, host = '' }: Pick<Transport, 'kind' | 'host'>,
): Tls | undefined {
  if (!tls || (tls.serverName ?? '') !== '' || !WEBSOCKET.has(kind.toLowerCase())) return tls;
  const name = host.replace(/:\d{1,5}$/, '');
  return /^[\w.-]+$/.test(name) && ipVersion(name) === 0 ? { ...tls, serverName: name } : tls;
}

/**
 * TLS settings in the keys of `[outbound.stream.tls]` and of Hysteria 2. With a pin, the programs accept only one
 * certificate, even if they allow insecure ones; since the pin is not imported, `allow_insecure` would accept any, and
 * is left out.
 */
export const tlsSettings = ({ serverName, allowInsecure, caFile, pinnedBy }: Tls): Settings => ({
  server_name: serverName?.trim() || undefined,
  allow_insecure:
    allowInsecure === true && caFile === undefined && pinnedBy === undefined ? true : undefined,
  ca_file: caFile,
});

const withQuery = (path: string): string => (path.includes('?') ? `${path}&` : `${path}?`);

/** A host in the form of `server`: IPv6 without brackets. */
export const bareHost = (host: string): string => host.trim().replace(/^\[(.*)\]$/, '$1');

/**
 * Parses a port that is a number or a text, which some programs write with a fraction of zero.
 * @throws {ImportError} unless it is from 1 to 65535
 */
export function toPort(value: string | number | undefined): number {
  const port =
    typeof value === 'string' && /^\s*\d{1,5}(?:\.0{1,9})?\s*$/.test(value) ? Number(value) : value;
  if (typeof port === 'number' && Number.isInteger(port) && port > 0 && port < 65_536) return port;
  throw new ImportError(
    value === undefined ? 'it has no port' : 'its port is not a number up to 65535',
  );
}
