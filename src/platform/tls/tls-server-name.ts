import { ipVersion } from '../../ip/ip-version.ts';
import { NativeError } from '../native.ts';
import type { Address } from '../quic-tls/quic-tls-functions.ts';
import type { QuicTlsLibrary } from '../quic-tls/quic-tls-library.ts';

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
 *
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
