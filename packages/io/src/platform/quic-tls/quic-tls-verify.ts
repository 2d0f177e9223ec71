import { X509Certificate } from 'node:crypto';
import { checkServerIdentity } from 'node:tls';
import type { Address } from './quic-tls-functions.ts';
import type { QuicTlsLibrary } from './quic-tls-library.ts';

/** Constants `X509_V_` of openssl/x509_vfy.h. */
const OK = 0;
const UNKNOWN_ISSUER = 20;
const UNVERIFIED_LEAF = 21;
const HOSTNAME_MISMATCH = 62;
const ADDRESS_MISMATCH = 64;

/**
 * Returns the reason why verification of a server's certificate failed, in the words of Node's TLS; `undefined` if the
 * handshake failed for another reason.
 */
export function verifyFailure(
  library: QuicTlsLibrary,
  tls: Address,
  name: string,
): string | undefined {
  const { functions } = library;
  const code = functions.SSL_get_verify_result(tls);
  if (code === OK) return undefined;
  if (code === HOSTNAME_MISMATCH || code === ADDRESS_MISMATCH) {
    const mismatch = mismatchOf(library, tls, name);
    if (mismatch !== undefined) return mismatch;
  }
  // Node continues after the first failure, and reports the last one for a single certificate.
  const chain = functions.SSL_get_peer_cert_chain(tls);
  const isLone = chain !== 0 && functions.OPENSSL_sk_num(chain) === 1;
  const reported = code === UNKNOWN_ISSUER && isLone ? UNVERIFIED_LEAF : code;
  return functions.X509_verify_cert_error_string(reported) ?? `certificate error ${code}`;
}

/** Returns the error text that lists the names of a certificate. */
function mismatchOf(library: QuicTlsLibrary, tls: Address, name: string): string | undefined {
  const der = leafOf(library, tls);
  if (!der) return undefined;
  const certificate = new X509Certificate(der).toLegacyObject();
  return checkServerIdentity(name, certificate)?.message;
}

/** Returns the peer's certificate as DER. */
function leafOf(library: QuicTlsLibrary, tls: Address): Uint8Array | undefined {
  const { functions } = library;
  const chain = functions.SSL_get_peer_cert_chain(tls);
  if (chain === 0 || functions.OPENSSL_sk_num(chain) < 1) return undefined;
  const leaf = functions.OPENSSL_sk_value(chain, 0);
  const size = functions.i2d_X509(leaf, 0);
  if (size <= 0) return undefined;
  const memory = library.memory(size);
  // Advances the given pointer beyond the output.
  library.putResult(memory.at);
  const written = functions.i2d_X509(leaf, library.results.at);
  return written === size ? memory.bytes.subarray(0, size) : undefined;
}
