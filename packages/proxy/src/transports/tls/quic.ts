import { ServerCertificateError } from '@weir/crypto/certificates';
import { NativeError } from '@weir/io/platform/native';
import {
  QuicTlsContext,
  type QuicTlsChoices,
  type QuicTlsLibrary,
  quicTls,
  QuicTls,
} from '@weir/io/quic-tls';
import { TlsCertificateError } from '@weir/io/tls';
import type { ClientTls, ServerTls, TlsEvents, TlsHandshake } from '@weir/quic';
import type { TlsClientSpec, TlsServerSpec } from '../../spec.ts';
import { trustStore } from './trust-store.ts';

/** The protocol of HTTP/3 (RFC 9114 §3.1). */
const PROTOCOLS = ['h3'];

function libraryOrThrow(): QuicTlsLibrary {
  const probe = quicTls();
  if (probe.kind === 'available') return probe.library;
  throw new NativeError(`TLS for QUIC is not available: ${probe.reason}`);
}

/**
 * The TLS server of QUIC connections with HTTP/3. The client's server name is ignored, since there is only one
 * certificate.
 */
export class QuicServerTls implements ServerTls {
  readonly #context: QuicTlsContext;

  /**
   * @param choices cipher suites and key exchanges, which only tests change.
   * @throws {ServerCertificateError} if OpenSSL rejects the certificate or the key.
   * @throws {NativeError} if TLS for QUIC is not available.
   */
  constructor({ certificates, key }: TlsServerSpec, choices: QuicTlsChoices = {}) {
    const library = libraryOrThrow();
    try {
      this.#context = QuicTlsContext.server(library, {
        ...choices,
        certificates,
        key,
        protocols: PROTOCOLS,
      });
    } catch (error) {
      if (!(error instanceof TlsCertificateError)) throw error;
      throw new ServerCertificateError(error.part, error.message, { cause: error });
    }
  }

  createHandshake(events: TlsEvents): TlsHandshake {
    return new QuicTls(this.#context, undefined, events);
  }

  [Symbol.dispose](): void {
    this.#context[Symbol.dispose]();
  }
}

/** Settings of a QUIC client that only tests change. */
export interface QuicClientChoices extends QuicTlsChoices {
  readonly protocols?: readonly string[];
}

/** The TLS client of QUIC connections to one server, which is verified as `NodeClient` does. */
export class QuicClientTls implements ClientTls {
  readonly #spec: TlsClientSpec;
  readonly #choices: QuicClientChoices;
  #context: QuicTlsContext | undefined;
  #isDisposed = false;

  constructor(spec: TlsClientSpec, choices: QuicClientChoices = {}) {
    this.#spec = spec;
    this.#choices = choices;
  }

  /** @throws {NativeError} if TLS for QUIC is not available, or the object was disposed of. */
  createHandshake(events: TlsEvents): TlsHandshake {
    if (this.#isDisposed) throw new NativeError('TLS of a client was used after it was closed');
    this.#context ??= this.#makeContext();
    return new QuicTls(this.#context, this.#spec.serverName, events);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    this.#context?.[Symbol.dispose]();
    this.#context = undefined;
  }

  #makeContext(): QuicTlsContext {
    const library = libraryOrThrow();
    const { allowInsecure, ca } = this.#spec;
    const choices = { protocols: PROTOCOLS, ...this.#choices };
    if (allowInsecure) return QuicTlsContext.client(library, { ...choices, trust: undefined });
    using trust = trustStore(library, ca?.certificates ?? []);
    return QuicTlsContext.client(library, { ...choices, trust });
  }
}
