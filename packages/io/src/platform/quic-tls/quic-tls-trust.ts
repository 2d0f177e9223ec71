import { X509Certificate } from 'node:crypto';
import { checkServerIdentity } from 'node:tls';
import { NativeError } from '../native.ts';
import type { Address } from './quic-tls-functions.ts';
import type { QuicTlsLibrary } from './quic-tls-library.ts';

/** Parsed certificates in OpenSSL's memory: parsing those of a system takes 10 ms, so the set should be kept. */
export class CertificateSet implements Disposable {
  readonly #library: QuicTlsLibrary;
  readonly #certificates: Address[] = [];

  /** Creates a set of the valid certificates; leaves out invalid ones. */
  static ofValid(library: QuicTlsLibrary, pems: readonly string[]): CertificateSet {
    const set = new CertificateSet(library, []);
    for (const pem of pems) set.#certificates.push(...library.readCertificates(pem));
    library.functions.ERR_clear_error();
    return set;
  }

  /**
   * Parses certificates.
   *
   * @param pems one or more certificates each.
   * @throws {NativeError} for an invalid certificate.
   */
  constructor(library: QuicTlsLibrary, pems: readonly string[]) {
    this.#library = library;
    for (const pem of pems) {
      const read = library.readCertificates(pem);
      this.#certificates.push(...read);
      if (read.length > 0) continue;
      const reason = library.takeError() ?? 'no certificate';
      this[Symbol.dispose]();
      throw new NativeError(`invalid certificate: ${reason}`);
    }
  }

  /** The addresses of the certificates, which must be used synchronously. */
  get addresses(): readonly Address[] {
    return this.#certificates;
  }

  /** Releases the set. Stores that use its certificates keep references to them. */
  [Symbol.dispose](): void {
    const { X509_free } = this.#library.functions;
    for (const certificate of this.#certificates.splice(0)) X509_free(certificate);
  }
}

/** `X509_V_FLAG_PARTIAL_CHAIN` of openssl/x509_vfy.h: a chain may end at any certificate of the store. */
const PARTIAL_CHAIN = 0x80000;

/** An `X509_STORE`: the trust anchors of a client. */
export class TrustStore implements Disposable {
  readonly #library: QuicTlsLibrary;
  #store: Address;

  /**
   * @param anyIsAnchor whether every certificate is a trust anchor, not only self-signed ones.
   * @throws {NativeError} when the process is out of memory.
   */
  constructor(library: QuicTlsLibrary, sets: readonly CertificateSet[], anyIsAnchor: boolean) {
    this.#library = library;
    const { functions } = library;
    this.#store = functions.X509_STORE_new();
    if (this.#store === 0) throw new NativeError('OpenSSL is out of memory');
    if (anyIsAnchor) functions.X509_STORE_set_flags(this.#store, PARTIAL_CHAIN);
    for (const set of sets) {
      for (const certificate of set.addresses) {
        if (functions.X509_STORE_add_cert(this.#store, certificate) === 1) continue;
        this[Symbol.dispose]();
        throw new NativeError(`TLS: no trust store: ${library.takeError() ?? 'OpenSSL failed'}`);
      }
    }
  }

  /**
   * The address of the store, which must be used synchronously.
   * @throws {NativeError} after disposal.
   */
  get address(): Address {
    if (this.#store === 0) throw new NativeError('a trust store was used after it was closed');
    return this.#store;
  }

  /** Releases the store. Contexts that use it keep a reference. */
  [Symbol.dispose](): void {
    const store = this.#store;
    if (store === 0) return;
    this.#store = 0;
    this.#library.functions.X509_STORE_free(store);
  }
}

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
