import { WeirError } from '@weir/base';
import {
  CertificateSet,
  QuicTls,
  QuicTlsContext,
  quicTls,
  type QuicTlsLibrary,
  TrustStore,
} from '@weir/io/quic-tls';
import type { ClientTls, ServerTls, TlsEvents, TlsHandshake } from './index.ts';

/** Returns OpenSSL's functions for QUIC. @throws {WeirError} `tls` with the reason when they cannot be called. */
function openLibrary(): QuicTlsLibrary {
  const probe = quicTls();
  if (probe.kind === 'available') return probe.library;
  throw new WeirError('tls', `TLS for QUIC is not available: ${probe.reason}`);
}

/** The TLS 1.3 of a server's connections (RFC 9001), by the OpenSSL that Node contains. It selects the protocol `h3`. */
export class OpenSslServerTls implements ServerTls {
  readonly #context: QuicTlsContext;

  /**
   * @param credentials the certificate chain, the server's own certificate first, and its private key, both as PEM.
   * @throws {WeirError} when OpenSSL cannot be called, or rejects the certificate or the key.
   */
  constructor(credentials: { readonly certificates: string; readonly key: string }) {
    this.#context = QuicTlsContext.server(openLibrary(), credentials);
  }

  createHandshake(events: TlsEvents): TlsHandshake {
    return new QuicTls(this.#context, undefined, events);
  }

  /** Releases OpenSSL's memory. Existing connections are not affected. */
  [Symbol.dispose](): void {
    this.#context[Symbol.dispose]();
  }
}

/** The TLS 1.3 of connections to one server (RFC 9001), by the OpenSSL that Node contains. It offers the protocol `h3`. */
export class OpenSslClientTls implements ClientTls {
  readonly #context: QuicTlsContext;
  readonly #serverName: string;

  /**
   * @param server its name, which the certificate must have: a DNS name or an IP address; and the certificates that are
   *   trusted, as PEM, each of them an anchor by itself. Those of the system are not added.
   * @throws {WeirError} when OpenSSL cannot be called, or a certificate is invalid.
   */
  constructor(server: { readonly name: string; readonly trusted: readonly string[] }) {
    const library = openLibrary();
    using certificates = new CertificateSet(library, server.trusted);
    using trust = new TrustStore(library, [certificates], true);
    this.#context = QuicTlsContext.client(library, { trust });
    this.#serverName = server.name;
  }

  createHandshake(events: TlsEvents): TlsHandshake {
    return new QuicTls(this.#context, this.#serverName, events);
  }

  /** Releases OpenSSL's memory. Existing connections are not affected. */
  [Symbol.dispose](): void {
    this.#context[Symbol.dispose]();
  }
}
