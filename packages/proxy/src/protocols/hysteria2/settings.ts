import {
  parseCertificateChain,
  parseServerKey,
  ServerCertificateError,
} from '@weir/crypto/certificates';
import { hasControl } from '@weir/http/fields';
import {
  array,
  bool,
  converted,
  disclosed,
  located,
  secret,
  str,
  u16,
  u64,
  type Decoder,
  type Located,
} from '../../schema/decoder.ts';
import { wireHost } from '@weir/io/addresses';
import { quicTlsUnavailable } from '@weir/io/quic-tls';
import { DecodeError } from '../../schema/errors.ts';
import type { Span, TableNode } from '../../schema/node.ts';
import { fallback, optional, struct, type Decoded } from '../../schema/struct.ts';
import type { TlsServerSpec } from '../../spec.ts';
import type {
  InboundSettingsContext,
  OutboundSettingsContext,
  SettingsFiles,
} from '../protocol.ts';
import { AUTHENTICATED, type Hysteria2Credentials } from './authentication.ts';

/** The response to every request but a valid authentication. */
export interface Masquerade {
  readonly status: number;
  readonly body: string;
  readonly contentType: string;
}

export interface Hysteria2InboundSettings {
  readonly tls: TlsServerSpec;
  readonly credentials: Hysteria2Credentials;
  /** Settings of the UDP relay; `undefined` when UDP is not relayed. */
  readonly udp: { readonly idleSeconds: number } | undefined;
  readonly maxConnections: number;
  readonly maxCircuits: number;
  /** The password of Salamander; `undefined` without obfuscation. */
  readonly obfuscation: string | undefined;
  readonly masquerade: Masquerade;
}

export interface Hysteria2OutboundSettings {
  readonly password: string;
  readonly serverName: string;
  readonly allowInsecure: boolean;
  /** The CA certificates, a PEM file that is not parsed yet. */
  readonly ca: { readonly file: string; readonly content: string } | undefined;
  readonly obfuscation: string | undefined;
  readonly maxConcurrentStreams: number;
}

const text = optional(located(disclosed(str)));
const secretText = optional(located(secret));

const PRINTABLE = /^[ -~]+$/;

/** Decodes non-empty text that a header field can carry unchanged. */
const printable = (key: string): Decoder<string> =>
  converted(secret, (value, reject) => {
    if (value === '') throw reject(`${key} must not be empty`);
    if (!PRINTABLE.test(value)) throw reject(`${key} must be printable ASCII`);
    return value;
  });

const userName: Decoder<string> = converted(printable('user'), (name, reject) => {
  if (name.includes(':')) throw reject('user must not contain a colon');
  return name;
});

const user = struct({
  user: located(userName),
  pass: printable('pass'),
  email: fallback(str, ''),
});

const status: Decoder<number> = converted(u16, (code, reject) => {
  if (code < 100 || code > 999)
    throw reject(`masquerade status ${code} is not an HTTP status code`);
  if (code === AUTHENTICATED) {
    throw reject(`masquerade status ${code} is that of a successful authentication`);
  }
  return code;
});

const contentType: Decoder<string> = converted(disclosed(str), (value, reject) => {
  if (hasControl(value)) throw reject('masquerade content_type must not have control characters');
  return value;
});

const DEFAULT_MASQUERADE: Masquerade = {
  status: 404,
  body: '404 page not found\n',
  contentType: 'text/plain; charset=utf-8',
};

const masquerade = struct({
  status: fallback(status, DEFAULT_MASQUERADE.status),
  body: fallback(str, DEFAULT_MASQUERADE.body),
  contentType: fallback(contentType, DEFAULT_MASQUERADE.contentType),
});

const SHORTEST_IDLE = 2n;
const LONGEST_IDLE = 600n;
const DEFAULT_IDLE_SECONDS = 60;

const idleTimeout: Decoder<number> = converted(u64, (seconds, reject) => {
  if (seconds >= SHORTEST_IDLE && seconds <= LONGEST_IDLE) return Number(seconds);
  throw reject(`udp_idle_timeout must be ${SHORTEST_IDLE} to ${LONGEST_IDLE} seconds`);
});

/** Decodes a limit of at least 1. */
const atLeastOne = (key: string): Decoder<number> =>
  converted(u64, (count, reject) => {
    if (count === 0n) throw reject(`${key} must be at least 1`);
    return Number(count);
  });

export const inboundTable = struct(
  {
    certFile: text,
    keyFile: text,
    password: optional(located(printable('password'))),
    users: optional(located(array(user))),
    udp: fallback(bool, false),
    udpIdleTimeout: optional(located(idleTimeout)),
    maxConnections: fallback(atLeastOne('max_connections'), 4096),
    maxCircuits: fallback(atLeastOne('max_circuits'), 65_536),
    /** Hysteria 1 has its password at this key. */
    obfs: optional(located(str)),
    obfsPassword: secretText,
    masquerade: fallback(masquerade, DEFAULT_MASQUERADE),
  },
  {
    certFile: 'PEM file of the chain, leaf first',
    keyFile: 'PEM file of the private key',
    password: 'Password of all clients, unless there are users',
    users: 'Accounts, unless there is one password',
    udp: 'Whether UDP is relayed',
    udpIdleTimeout: 'Seconds of silence that end an association, 2 to 600',
    maxConnections: 'QUIC connections at one time',
    maxCircuits: 'Streams and associations at one time',
    obfs: 'salamander, or none when left out',
    obfsPassword: 'For obfs, at least 4 bytes',
    masquerade: 'The response to everything but valid clients',
  },
);
type InboundTable = Decoded<typeof inboundTable>;

/** Decodes the `settings` of a Hysteria 2 inbound. @throws {DecodeError} */
export function inboundSettings(
  table: TableNode,
  { files }: Pick<InboundSettingsContext, 'files'>,
  unavailable = quicTlsUnavailable,
): Hysteria2InboundSettings {
  const written = inboundTable(table);
  requireQuic(table.span, unavailable);
  const certificate = certificateFiles(written, table.span);
  const { udp, udpIdleTimeout } = written;
  if (!udp && udpIdleTimeout) {
    throw new DecodeError(
      'udp_idle_timeout has no meaning while udp is false',
      udpIdleTimeout.span,
    );
  }
  return {
    credentials: credentialsOf(written, table.span),
    udp: udp ? { idleSeconds: udpIdleTimeout?.value ?? DEFAULT_IDLE_SECONDS } : undefined,
    maxConnections: written.maxConnections,
    maxCircuits: written.maxCircuits,
    obfuscation: obfuscationOf(written),
    masquerade: written.masquerade,
    tls: certificateOf(certificate, files),
  };
}

function credentialsOf({ password, users }: InboundTable, span: Span): Hysteria2Credentials {
  const list = users?.value ?? [];
  if (password && users && list.length > 0) {
    throw new DecodeError('hysteria2 needs password or users, not both', users.span);
  }
  if (password) return { password: password.value };
  if (list.length === 0) throw new DecodeError('hysteria2 needs password or users', span);
  const names = new Set<string>();
  return {
    users: list.map(({ user: { value: name, span: place }, pass, email }) => {
      const key = name.toLowerCase();
      if (names.has(key)) {
        throw new DecodeError('two users have the same name; its case does not count', place);
      }
      names.add(key);
      return { user: name, pass, label: email === '' ? name : email };
    }),
  };
}

/**
 * Returns the reason why settings cannot be swapped in while clients are live: all datagrams of the port have one
 * obfuscation, and live clients would continue with the old one.
 */
export function restartReason(
  before: Hysteria2InboundSettings,
  after: Hysteria2InboundSettings,
): string | undefined {
  if (before.obfuscation === after.obfuscation) return undefined;
  const isSwitched = (before.obfuscation === undefined) !== (after.obfuscation === undefined);
  return isSwitched ? 'obfs changed' : 'obfs_password changed';
}

interface CertificateFiles {
  readonly certFile: Located<string>;
  readonly keyFile: Located<string>;
}

function certificateFiles({ certFile, keyFile }: InboundTable, span: Span): CertificateFiles {
  if (!certFile || !keyFile || certFile.value === '' || keyFile.value === '') {
    throw new DecodeError('hysteria2 needs both cert_file and key_file', span);
  }
  return { certFile, keyFile };
}

function certificateOf(
  { certFile, keyFile }: CertificateFiles,
  files: SettingsFiles,
): TlsServerSpec {
  const chain = files.content(certFile, 'cannot read cert_file');
  const certificates = parsed('cert_file', certFile, () => parseCertificateChain(chain));
  const pem = files.content(keyFile, 'cannot read key_file');
  const key = parsed('key_file', keyFile, () => parseServerKey(pem, certificates));
  return { certificates, key };
}

function parsed(key: string, { value: path, span }: Located<string>, parse: () => string): string {
  try {
    return parse();
  } catch (error) {
    if (!(error instanceof ServerCertificateError)) throw error;
    throw new DecodeError(`${key} ${path}: ${error.message}`, span, { cause: error });
  }
}

export const outboundTable = struct(
  {
    password: located(secret),
    serverName: optional(located(disclosed(str))),
    allowInsecure: fallback(bool, false),
    caFile: text,
    /** Hysteria 1 has its password at this key. */
    obfs: optional(located(str)),
    obfsPassword: secretText,
    maxConcurrentStreams: fallback(atLeastOne('max_concurrent_streams'), 102_400),
  },
  {
    password: 'user:pass where the server has users',
    serverName: 'The name that is sent and verified; by default the server',
    allowInsecure: 'Accepts any certificate',
    caFile: 'PEM file of further authorities',
    obfs: 'salamander, or none when left out',
    obfsPassword: 'For obfs, at least 4 bytes',
    maxConcurrentStreams: 'Streams at one time',
  },
);

/** Decodes the `settings` of a Hysteria 2 outbound. @throws {DecodeError} */
export function outboundSettings(
  table: TableNode,
  { server = '', files }: Pick<OutboundSettingsContext, 'server' | 'files'>,
  unavailable = quicTlsUnavailable,
): Hysteria2OutboundSettings {
  const written = outboundTable(table);
  requireQuic(table.span, unavailable);
  const { password, serverName, allowInsecure, caFile } = written;
  if (password.value === '') throw new DecodeError('password must not be empty', password.span);
  if (hasControl(password.value)) {
    throw new DecodeError('password must not have control characters', password.span);
  }
  if (allowInsecure && caFile) {
    throw new DecodeError('allow_insecure and ca_file cannot both be set', caFile.span);
  }
  return {
    password: password.value,
    serverName: wireHost(serverName && serverName.value !== '' ? serverName.value : server),
    allowInsecure,
    obfuscation: obfuscationOf(written),
    maxConcurrentStreams: written.maxConcurrentStreams,
    ca: caFile && {
      file: caFile.value,
      // As text, since structuredClone makes a plain Uint8Array of a Buffer.
      content: Buffer.from(files.content(caFile, 'cannot read ca_file')).toString('latin1'),
    },
  };
}

/** Minimum length in the reference, in bytes. */
const SHORTEST_OBFS_PASSWORD = 4;

interface ObfuscationKeys {
  readonly obfs: Located<string> | undefined;
  readonly obfsPassword: Located<string> | undefined;
}

function obfuscationOf({ obfs, obfsPassword }: ObfuscationKeys): string | undefined {
  if (obfs && obfs.value !== 'salamander') throw new DecodeError('unknown obfs', obfs.span);
  if (!obfs) {
    if (!obfsPassword) return undefined;
    throw new DecodeError('obfs_password has no meaning without obfs', obfsPassword.span);
  }
  if (!obfsPassword) throw new DecodeError('obfs needs obfs_password', obfs.span);
  if (Buffer.byteLength(obfsPassword.value) < SHORTEST_OBFS_PASSWORD) {
    const message = `obfs_password must have at least ${SHORTEST_OBFS_PASSWORD} bytes`;
    throw new DecodeError(message, obfsPassword.span);
  }
  return obfsPassword.value;
}

function requireQuic(span: Span, unavailable: () => string | undefined): void {
  const reason = unavailable();
  if (reason === undefined) return;
  throw new DecodeError(`this Node.js cannot do QUIC, which hysteria2 needs: ${reason}`, span);
}
