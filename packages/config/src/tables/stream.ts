import { parseCaBundle, parseCertificateChain, parseServerKey } from '@weir/crypto/certificates';
import { WeirError } from '@weir/base';
import { wireHost, ipVersion } from '@weir/io/addresses';
import {
  bool,
  type Decoded,
  disclosed,
  type Located,
  located,
  narrowed,
  NO_REALITY,
  optional,
  type Span,
  str,
  struct,
} from '@weir/proxy/schema';
import type {
  CaSpec,
  InboundCarrierSpec,
  InboundStreamSpec,
  ListenSpec,
  OutboundCarrierSpec,
  OutboundStreamSpec,
  TlsClientSpec,
  TlsServerSpec,
} from '@weir/proxy/spec';
import { hostWithoutPort, splitWsPath } from '@weir/proxy/transports/ws/handshake';
import { Finding, type PartFindings } from '../findings.ts';
import type { InputFiles } from '../sources/input-files.ts';
import { networkHint } from '../word-hints.ts';

const text = optional(located(disclosed(str)));
/** Confidential: clients alone may know the path. */
const unlisted = optional(located(str));

const NETWORKS = ['tcp', 'tls', 'ws', 'grpc'] as const;

const tlsTable = struct(
  {
    serverName: optional(located(disclosed(str))),
    allowInsecure: optional(located(bool)),
    caFile: text,
    certFile: text,
    keyFile: text,
  },
  {
    serverName: 'The name that is sent and verified; by default the server',
    allowInsecure: 'Accepts any certificate',
    caFile: 'PEM file of further authorities',
    certFile: 'Inbounds: PEM file of the chain, leaf first',
    keyFile: 'Inbounds: PEM file of the private key',
  },
  () =>
    'TLS is network = "tls", or security = "tls" below WebSocket and gRPC; tls = { … } has its settings, such as server_name or cert_file',
);
type TlsTable = Partial<Decoded<typeof tlsTable>>;

const wsTable = struct(
  { path: unlisted, host: text },
  {
    path: 'Path of the upgrade request; ?ed=N allows early data',
    host: 'The Host header; by default the name of the server',
  },
  () => 'WebSocket is network = "ws"; its path is ws = { path = … }',
);

const grpcTable = struct(
  { serviceName: unlisted, authority: text },
  {
    serviceName: 'Both ends have to agree on it',
    authority: 'By default the name of the server',
  },
  () => 'gRPC is network = "grpc", and the name of its service grpc = { service_name = … }',
);

/** The tables `[inbound.stream]` and `[outbound.stream]` as written. */
export const streamTable = struct(
  {
    network: optional(narrowed(located(str), { enum: NETWORKS, default: 'tcp' })),
    security: optional(narrowed(located(str), { enum: ['none', 'tls'], default: 'none' })),
    tls: optional(located(tlsTable)),
    ws: optional(located(wsTable)),
    grpc: optional(located(grpcTable)),
  },
  {
    network: 'The carrier',
    security: 'TLS below ws or grpc; for TLS alone write network = "tls"',
    tls: 'Settings of TLS',
    ws: 'For network = "ws"',
    grpc: 'For network = "grpc"',
  },
  (node) => {
    const network = NETWORKS.find((each) => node.kind === 'string' && each === node.value);
    return `write a table: stream = { network = ${network === undefined ? '…' : JSON.stringify(network)} }`;
  },
);
export type StreamTable = Decoded<typeof streamTable>;

/** Returns the files that a stream names, if it is one with TLS. */
export function filesOfStream(
  stream: StreamTable | undefined,
  keys: readonly ('caFile' | 'certFile' | 'keyFile')[],
): readonly Located<string>[] {
  const { network, security, tls } = stream ?? {};
  const hasTls = network?.value === 'tls' || security?.value.trim() === 'tls';
  return hasTls ? keys.flatMap((key) => tls?.value[key] ?? []) : [];
}

/** The properties of a stream's owner that its checks depend on. */
interface StreamSettingsOwner {
  /** The protocol as the file writes it. */
  readonly protocol: string;
  readonly takesStream: boolean;
}

/** Context for lowering a stream. */
interface StreamContext {
  readonly files: InputFiles;
  readonly part: PartFindings;
}

/** Lowers `[inbound.stream]`; findings go to `part`. */
export function lowerInboundStream(
  table: StreamTable | undefined,
  owner: StreamSettingsOwner & { readonly listen: ListenSpec | undefined },
  { files, part }: StreamContext,
): InboundStreamSpec | undefined {
  const chosen = part.attempt(() => chooseStream(table, owner));
  if (!table || !chosen) return undefined;
  const carrier = part.attempt((): InboundCarrierSpec => {
    const { ws, grpc } = table;
    switch (chosen.network) {
      case 'tls':
        return { kind: 'raw' };
      case 'ws': {
        const { path } = splitWsPath(ws?.value.path?.value ?? '');
        const host = hostWithoutPort(wireHost(ws?.value.host?.value ?? ''));
        return { kind: 'ws', path, host: host === '' ? undefined : host };
      }
      case 'grpc':
        return { kind: 'grpc', serviceName: serviceName(grpc?.value.serviceName, chosen.span) };
      default:
        return chosen.network satisfies never;
    }
  });
  const tls = chosen.tls
    ? lowerTlsServer(table.tls?.value ?? {}, chosen.span, files, part)
    : undefined;
  return carrier && { carrier, tls };
}

/** Lowers `[outbound.stream]`; findings go to `part`. */
export function lowerOutboundStream(
  table: StreamTable | undefined,
  owner: StreamSettingsOwner & { readonly server: string | undefined },
  { files, part }: StreamContext,
): OutboundStreamSpec | undefined {
  const chosen = part.attempt(() => chooseStream(table, owner));
  if (!table || !chosen) return undefined;
  const serverName = wireHost(written(table.tls?.value.serverName) ?? owner.server ?? '');
  const carrier = part.attempt((): OutboundCarrierSpec => {
    const { ws, grpc } = table;
    switch (chosen.network) {
      case 'tls':
        return { kind: 'raw' };
      case 'ws':
        return {
          kind: 'ws',
          ...splitWsPath(ws?.value.path?.value ?? ''),
          host: inAuthority(written(ws?.value.host) ?? serverName),
        };
      case 'grpc':
        return {
          kind: 'grpc',
          serviceName: serviceName(grpc?.value.serviceName, chosen.span),
          authority: inAuthority(written(grpc?.value.authority) ?? serverName),
        };
      default:
        return chosen.network satisfies never;
    }
  });
  const tls = chosen.tls
    ? part.attempt(() => lowerTlsClient(table.tls?.value ?? {}, serverName, files))
    : undefined;
  return carrier && { carrier, tls };
}

/** A carrier other than a bare socket, and whether TLS is below it. */
interface ChosenStream {
  readonly network: 'tls' | 'ws' | 'grpc';
  readonly tls: boolean;
  /** The place of `network`. */
  readonly span: Span;
}

/** Checks `network` and `security`; `undefined` is a bare socket. @throws {Finding} */
function chooseStream(
  table: StreamTable | undefined,
  owner: StreamSettingsOwner & { readonly listen?: ListenSpec | undefined },
): ChosenStream | undefined {
  if (!table) return undefined;
  const { network, security } = table;
  const noStream = streamRefusal(owner);
  // If the owner has no stream, an empty network counts as absent.
  const name = noStream !== undefined && network?.value === '' ? 'tcp' : (network?.value ?? 'tcp');
  const known = NETWORKS.find((each) => each === name);
  if (!known) {
    throw new Finding('unknown stream network', network?.span, { hint: networkHint(name) });
  }
  if (noStream && known !== 'tcp') {
    throw new Finding(`${noStream}, so network must be tcp`, network?.span);
  }
  const tls = hasTlsLayer(security);
  if (noStream && tls) throw new Finding(`${noStream}, so security must be none`, security?.span);
  if (known !== 'tcp') {
    // `network` is present, because the default is tcp.
    return { network: known, tls: known === 'tls' || tls, span: (network as Located<string>).span };
  }
  if (!tls) return undefined;
  const message =
    'stream security tls needs network ws or grpc; for TLS itself write network = tls instead';
  throw new Finding(message, security?.span);
}

function hasTlsLayer(security: Located<string> | undefined): boolean {
  const layer = security?.value.trim() ?? '';
  if (!security || layer === '' || layer === 'none') return false;
  if (layer === 'tls') return true;
  const message = `unknown stream security ${layer} (expected tls or none)`;
  const hint = layer.toLowerCase() === 'reality' ? NO_REALITY : undefined;
  throw new Finding(message, security.span, { hint });
}

/** Returns the reason why the owner supports plain TCP only. */
function streamRefusal({
  protocol,
  takesStream,
  listen,
}: StreamSettingsOwner & { readonly listen?: ListenSpec | undefined }): string | undefined {
  if (!takesStream) return `protocol ${protocol} takes no stream`;
  if (listen && listen.kind !== 'ip') return 'a stream needs listen to be an IP address';
  return undefined;
}

function serviceName(name: Located<string> | undefined, span: Span): string {
  const value = written(name);
  if (value === undefined) {
    throw new Finding('grpc stream needs grpc.service_name', name?.span ?? span);
  }
  return value;
}

function lowerTlsServer(
  { certFile, keyFile }: TlsTable,
  span: Span,
  files: InputFiles,
  part: PartFindings,
): TlsServerSpec | undefined {
  const certificates = part.attempt(() => {
    const file = needed(certFile, span, 'tls stream needs tls.cert_file');
    const content = files.content(file, 'cannot read tls.cert_file');
    return parsed(file, 'tls.cert_file', () => parseCertificateChain(content));
  });
  const key = part.attempt(() => {
    const file = needed(keyFile, span, 'tls stream needs tls.key_file');
    const content = files.content(file, 'cannot read tls.key_file');
    // Without a certificate the key cannot be compared with it.
    if (certificates === undefined) return undefined;
    return parsed(file, 'tls.key_file', () => parseServerKey(content, certificates));
  });
  if (certificates === undefined || key === undefined) return undefined;
  return { certificates, key };
}

function lowerTlsClient(
  { allowInsecure, caFile }: TlsTable,
  serverName: string,
  files: InputFiles,
): TlsClientSpec {
  const insecure = allowInsecure?.value ?? false;
  if (insecure && caFile) {
    const message = 'tls.allow_insecure and tls.ca_file cannot both be set';
    throw new Finding(message, caFile.span);
  }
  return { serverName, allowInsecure: insecure, ca: caFile && caOf(caFile, files) };
}

function caOf(file: Located<string>, files: InputFiles): CaSpec {
  const content = files.content(file, 'cannot read tls.ca_file');
  const certificates = parsed(file, undefined, () => parseCaBundle(content));
  return { file: file.value, certificates };
}

function needed(file: Located<string> | undefined, span: Span, missing: string): Located<string> {
  if (written(file) === undefined) throw new Finding(missing, file?.span ?? span);
  return file as Located<string>; // the key was written, so it is present
}

const NO_PREFIX = new Set(['no private key assigned']);

/** Parses the contents of a file; the error begins with `key` if the specified text does. */
function parsed<T>(file: Located<string>, key: string | undefined, parse: () => T): T {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof WeirError)) throw error;
    const bare = key === undefined || NO_PREFIX.has(error.message);
    const message = bare ? error.message : `${key} ${file.value}: ${error.message}`;
    throw new Finding(message, file.span, { cause: error });
  }
}

/** Returns the text of a key; an empty text counts as absent. */
const written = (part: Located<string> | undefined): string | undefined =>
  part && part.value !== '' ? part.value : undefined;

/** Returns a host in the form of `Host` and `:authority`. */
function inAuthority(host: string): string {
  const spelled = wireHost(host);
  return ipVersion(spelled) === 6 ? `[${spelled}]` : spelled;
}
