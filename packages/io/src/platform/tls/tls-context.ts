import { constants } from 'node:crypto';
import { DEFAULT_CIPHERS } from 'node:tls';
import { ipVersion } from '@weir/base/ip';
import { NativeError } from '../native.ts';
import type { Address } from '../quic-tls/quic-tls-functions.ts';
import { encodeProtocols, type QuicTlsLibrary } from '../quic-tls/quic-tls-library.ts';
import type { TrustStore } from '../quic-tls/quic-tls-trust.ts';

/**
 * Properties of a TLS server that a scanner sees besides its certificate: the defaults of nginx, the most common web
 * server on OpenSSL. Node's own are rare, and a mixture of both would be unique: a server with common properties is not
 * recognised by its handshake.
 */

/** The ciphers for TLS 1.2: the default of nginx's ssl_ciphers. */
const NGINX_CIPHERS = 'HIGH:!aNULL:!MD5';

/**
 * Returns the ciphers for TLS 1.2, in OpenSSL's syntax. The order does not matter, since the client's preference counts
 * (nginx's ssl_prefer_server_ciphers is off).
 * @returns `undefined` if Node's command line or environment determines the ciphers.
 */
export const serverCiphers = (): string | undefined =>
  DEFAULT_CIPHERS === constants.defaultCoreCipherList ? NGINX_CIPHERS : undefined;

/** Lifetime of session tickets in seconds, as announced to clients: nginx's ssl_session_timeout. */
export const TICKET_SECONDS = 300;

/**
 * Bytes of the session id context (`SSL_CTX_set_session_id_context`), which tickets contain: that of nginx is a SHA-1.
 * Its content is encrypted, and only the server sees it.
 */
export const SESSION_MARK_BYTES = 20;

/** A server's certificate or key that OpenSSL rejects. */
export class TlsCertificateError extends NativeError {
  readonly part: 'certificate' | 'key';

  constructor(part: 'certificate' | 'key', message: string) {
    super(message);
    this.part = part;
  }
}

export interface TlsCredentials {
  /** Certificate chain in PEM, leaf first. */
  readonly certificates: string;
  /** Private key of the leaf, in PEM. */
  readonly key: string;
}

/** A constant of openssl/ssl.h. */
const CHAIN_CERTIFICATE = 89;

/**
 * Sets a server's certificate and key in an `SSL_CTX`.
 * @throws {TlsCertificateError} when OpenSSL rejects one of them although it is valid PEM (a key
 *   that is too short, for example).
 */
export function useCredentials(
  library: QuicTlsLibrary,
  context: Address,
  { certificates, key }: TlsCredentials,
): void {
  useCertificates(library, context, certificates);
  useKey(library, context, key);
}

function useCertificates(library: QuicTlsLibrary, context: Address, pem: string): void {
  const { functions } = library;
  let isLeaf = true;
  const all = library.readCertificates(pem);
  try {
    for (const certificate of all) {
      const result = isLeaf
        ? functions.SSL_CTX_use_certificate(context, certificate)
        : functions.SSL_CTX_ctrl(context, CHAIN_CERTIFICATE, 1, certificate);
      if (result !== 1) throw refused(library, 'certificate');
      isLeaf = false;
    }
  } finally {
    for (const certificate of all) functions.X509_free(certificate);
  }
  if (isLeaf) throw refused(library, 'certificate');
}

function useKey(library: QuicTlsLibrary, context: Address, pem: string): void {
  const { functions } = library;
  const key = library.readKey(pem);
  if (key === 0) throw refused(library, 'key');
  try {
    // Also checks that the key matches the certificate.
    if (functions.SSL_CTX_use_PrivateKey(context, key) !== 1) throw refused(library, 'key');
  } finally {
    functions.EVP_PKEY_free(key);
  }
}

function refused(library: QuicTlsLibrary, part: 'certificate' | 'key'): TlsCertificateError {
  const reason = library.takeError() ?? 'OpenSSL refuses it';
  const what = part === 'key' ? 'private key' : part;
  return new TlsCertificateError(part, `invalid ${what}: ${reason}`);
}

/*
 * Settings of every `SSL_CTX`, for streams and for QUIC. Commands and values are of openssl/ssl.h.
 */

const SET_SESSION_CACHE_MODE = 44;
const SET_MIN_PROTOCOL = 123;
const CACHE_OFF = 0;
const VERIFY_NONE = 0;
const VERIFY_PEER = 1;

/**
 * Creates an `SSL_CTX`, which its owner frees. Sessions are not cached in it.
 * @param lowestVersion the lowest version of TLS, as on the wire: `0x0303` is TLS 1.2.
 * @throws {NativeError}
 */
export function newTlsContext(library: QuicTlsLibrary, lowestVersion: number): Address {
  const { functions } = library;
  functions.ERR_clear_error();
  const context = functions.SSL_CTX_new(functions.TLS_method());
  if (context === 0) throw tlsFailure(library, 'no context');
  functions.SSL_CTX_ctrl(context, SET_MIN_PROTOCOL, lowestVersion, 0);
  functions.SSL_CTX_ctrl(context, SET_SESSION_CACHE_MODE, CACHE_OFF, 0);
  return context;
}

/** Sets the protocols that a client offers (RFC 7301). @throws {NativeError} */
export function offerProtocols(
  library: QuicTlsLibrary,
  context: Address,
  protocols: readonly string[],
): void {
  const list = encodeProtocols(protocols);
  if (library.functions.SSL_CTX_set_alpn_protos(context, list, list.length) !== 0) {
    throw tlsFailure(library, 'no protocols to offer');
  }
}

/**
 * Sets whether a client verifies the server, and by which trust anchors; without `trust` it accepts any certificate.
 */
export function verifyBy(
  library: QuicTlsLibrary,
  context: Address,
  trust: TrustStore | undefined,
): void {
  const { functions } = library;
  if (trust) functions.SSL_CTX_set1_cert_store(context, trust.address);
  functions.SSL_CTX_set_verify(context, trust ? VERIFY_PEER : VERIFY_NONE, 0);
}

/** Returns the error of a failed step of OpenSSL, with its reason. */
export const tlsFailure = (library: QuicTlsLibrary, what: string): NativeError =>
  new NativeError(`TLS: ${what}: ${library.takeError() ?? 'OpenSSL failed'}`);

/** Constants of openssl/ssl.h and openssl/tls1.h. */
const SET_SERVER_NAME = 55;
const HOST_NAME = 0;

/**
 * Returns the name by which a client verifies a server, without a trailing dot; `undefined` if there is none. OpenSSL
 * treats an empty name as none, and reads only up to a zero byte, so it would verify less.
 * @throws {NativeError} for a name that cannot be verified.
 */
export function verifiableName(
  serverName: string | undefined,
  verifies: boolean,
): string | undefined {
  const name = serverName?.replace(/\.$/, '');
  if (!verifies || (name !== undefined && name !== '' && !name.includes('\0'))) return name;
  throw new NativeError('TLS cannot verify a server without a valid name');
}

/**
 * Sets the server name of a client, for SNI (RFC 6066 §3: DNS names only) and for verification.
 * @returns whether OpenSSL accepted it.
 */
export function setServerName(
  library: QuicTlsLibrary,
  tls: Address,
  name: string,
  verifies: boolean,
): boolean {
  const { functions } = library;
  if (ipVersion(name) !== 0) {
    if (!verifies) return true;
    return functions.X509_VERIFY_PARAM_set1_ip_asc(functions.SSL_get0_param(tls), name) === 1;
  }
  const text = library.nameText(name);
  if (functions.SSL_ctrl(tls, SET_SERVER_NAME, HOST_NAME, text) !== 1) return false;
  return !verifies || functions.SSL_set1_host(tls, name) === 1;
}

/** Clearer texts for some of OpenSSL's reasons. */
const REASONS: Readonly<Record<string, string>> = {
  'wrong version number': 'the peer does not speak TLS',
  'http request': 'the peer speaks HTTP without TLS',
  'unsupported protocol': 'the peer supports no TLS version that is allowed here',
  'no application protocol': 'the peer offers no supported application protocol',
};

/** Returns the reason of an OpenSSL error, or a clearer text for it. */
export const tlsReasonInWords = (reason: string): string => REASONS[reason] ?? reason;
