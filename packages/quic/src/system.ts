import { WeirError } from '@weir/base';
import {
  CertificateSet,
  QuicTls,
  QuicTlsContext,
  quicTls,
  type QuicTlsLibrary,
  TrustStore,
} from '@weir/io/quic-tls';
import type { ClientTls, ServerTls, TlsEvents, TlsHandshake } from './contract.ts';

/** The needs of an endpoint, by what this machine has: time, random bytes, sockets, and TLS by the OpenSSL of Node. */
export { type BindDatagrams, type DatagramSocket, toEndpoint } from '@weir/base/ip';
export { type RandomSource, SystemRandomSource } from '@weir/base/random';
export { selfSigned } from '@weir/crypto/self-signed';
export type { ByteLink } from '@weir/io/links';
export { systemSockets } from '@weir/io/sockets';
export { type Clock, systemClock } from '@weir/io/time';

/** Returns OpenSSL's functions for QUIC. @throws {WeirError} `tls` with the reason when they cannot be called. */
function openLibrary(): QuicTlsLibrary {
  const probe = quicTls();
  if (probe.kind === 'available') return probe.library;
  throw new WeirError('tls', `TLS for QUIC is not available: ${probe.reason}`);
}

/** Returns the protocols after a check: QUIC requires one (RFC 9001 §8.1), each of 1 to 255 bytes (RFC 7301 §3.1). */
function checked(protocols: readonly string[]): readonly string[] {
  const isValid = (name: string): boolean =>
    name !== '' && name.length < 256 && Buffer.from(name, 'latin1').toString('latin1') === name;
  if (protocols.length > 0 && protocols.every(isValid)) return protocols;
  throw new WeirError('tls', 'QUIC needs application protocols (ALPN), each of 1 to 255 bytes');
}

/** The TLS 1.3 of connections (RFC 9001), by the OpenSSL that Node contains. */
abstract class OpenSslTls implements Disposable {
  readonly #context: QuicTlsContext;
  readonly #serverName: string | undefined;

  constructor(context: QuicTlsContext, serverName?: string) {
    this.#context = context;
    this.#serverName = serverName;
  }

  createHandshake(events: TlsEvents): TlsHandshake {
    return new QuicTls(this.#context, this.#serverName, events);
  }

  /** Releases OpenSSL's memory. Existing connections are not affected. */
  [Symbol.dispose](): void {
    this.#context[Symbol.dispose]();
  }
}

/** The TLS 1.3 of a server's connections (RFC 9001), by the OpenSSL that Node contains. */
export class OpenSslServerTls extends OpenSslTls implements ServerTls {
  /**
   * @param options the certificate chain, the server's own certificate first, and its private key, both as PEM; and its
   *   application protocols (ALPN, RFC 7301), the preferred one first. A handshake whose client offers none of them
   *   fails with the alert no_application_protocol.
   * @throws {WeirError} when OpenSSL cannot be called, or rejects the certificate or the key, or a protocol is invalid.
   */
  constructor(options: {
    readonly certificates: string;
    readonly key: string;
    readonly protocols: readonly string[];
  }) {
    const protocols = checked(options.protocols);
    super(QuicTlsContext.server(openLibrary(), { ...options, protocols }));
  }
}

/** The TLS 1.3 of connections to one server (RFC 9001), by the OpenSSL that Node contains. */
export class OpenSslClientTls extends OpenSslTls implements ClientTls {
  /**
   * @param options the server's name, which the certificate must have: a DNS name or an IP address; the certificates that
   *   are trusted, as PEM, each of them an anchor by itself (those of the system are not added); and the application
   *   protocols to offer (ALPN, RFC 7301), the preferred one first.
   * @throws {WeirError} when OpenSSL cannot be called, or a certificate or a protocol is invalid.
   */
  constructor(options: {
    readonly name: string;
    readonly trusted: readonly string[];
    readonly protocols: readonly string[];
  }) {
    const protocols = checked(options.protocols);
    const library = openLibrary();
    using certificates = new CertificateSet(library, options.trusted);
    using trust = new TrustStore(library, [certificates], true);
    super(QuicTlsContext.client(library, { trust, protocols }), options.name);
  }
}
