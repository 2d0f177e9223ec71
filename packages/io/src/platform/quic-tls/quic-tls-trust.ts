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
   * Parses certificates. | @param pems one or more certificates each.
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
