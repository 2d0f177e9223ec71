import { NativeError } from '../native.ts';
import type { Address } from './quic-tls-functions.ts';
import type { QuicTlsLibrary } from './quic-tls-library.ts';
import type { TrustStore } from './quic-tls-trust.ts';
import {
  newTlsContext,
  offerProtocols,
  type TlsCredentials,
  tlsFailure,
  useCredentials,
  verifyBy,
} from '../tls/tls-context.ts';

/** Restrictions for tests; by default those of the platform. */
export interface QuicTlsChoices {
  /** The cipher suites, by OpenSSL's names, separated by colons, in order of preference. */
  readonly cipherSuites?: string | undefined;
  /** The key exchange groups, in the same form. The default has a hybrid with ML-KEM first. */
  readonly groups?: string | undefined;
}

interface QuicTlsServerOptions extends QuicTlsChoices, TlsCredentials {
  /** Application protocols (RFC 7301), the preferred one first. */
  readonly protocols: readonly string[];
}

interface QuicTlsClientOptions extends QuicTlsChoices {
  /** The trust anchors for the server's certificate; `undefined` accepts any. */
  readonly trust: TrustStore | undefined;
  /** Application protocols offered (RFC 7301), the preferred one first. */
  readonly protocols: readonly string[];
}

/** Constants of openssl/ssl.h. */
const SET_MAX_CERT_LIST = 51;
const SET_GROUPS_LIST = 92;
const SET_MAX_PROTOCOL = 124;
const TLS1_3 = 0x0304;

/**
 * The cipher suites of RFC 9001 §5.3 with AES-128 first, because the choice determines the cipher
 * of packets. A server follows the client's order: a client without AES instructions prefers
 * ChaCha20.
 */
const CIPHER_SUITES = 'TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256';

/**
 * The longest certificate chain of a peer, in bytes: that of the largest accepted handshake
 * message.
 */
const MAX_CERTIFICATE_CHAIN = 0x10000;

/** An `SSL_CTX`: the shared settings of all connections of one server, or to one server. */
export class QuicTlsContext implements Disposable {
  readonly library: QuicTlsLibrary;
  readonly isServer: boolean;
  /** Whether a client verifies the server. */
  readonly verifies: boolean;
  /** Application protocols, the preferred one first. */
  readonly protocols: readonly string[];
  #context: Address;

  private constructor(
    library: QuicTlsLibrary,
    isServer: boolean,
    verifies: boolean,
    protocols: readonly string[],
  ) {
    this.library = library;
    this.isServer = isServer;
    this.verifies = verifies;
    this.protocols = protocols;
    this.#context = newTlsContext(library, TLS1_3);
    library.forgottenContexts.register(this, this.#context, this);
    this.#control(SET_MAX_PROTOCOL, TLS1_3);
    this.#control(SET_MAX_CERT_LIST, MAX_CERTIFICATE_CHAIN);
  }

  /**
   * @throws {TlsCertificateError} when OpenSSL rejects the certificate or the key although both are valid PEM (a key
   * that is too short, for example).
   */
  static server(library: QuicTlsLibrary, options: QuicTlsServerOptions): QuicTlsContext {
    const context = new QuicTlsContext(library, true, false, options.protocols);
    try {
      context.#choose(options);
      useCredentials(library, context.#context, options);
      const { SSL_CTX_set_num_tickets, SSL_CTX_set_alpn_select_cb } = library.functions;
      SSL_CTX_set_num_tickets(context.#context, 0);
      SSL_CTX_set_alpn_select_cb(context.#context, library.chooseProtocol, 0);
      return context;
    } catch (error) {
      context[Symbol.dispose]();
      throw error;
    }
  }

  static client(library: QuicTlsLibrary, options: QuicTlsClientOptions): QuicTlsContext {
    const { trust, protocols } = options;
    const context = new QuicTlsContext(library, false, trust !== undefined, protocols);
    try {
      context.#choose(options);
      offerProtocols(library, context.#context, protocols);
      verifyBy(library, context.#context, trust);
      return context;
    } catch (error) {
      context[Symbol.dispose]();
      throw error;
    }
  }

  /**
   * The address of the context, which must be used synchronously.
   * @throws {NativeError} after disposal.
   */
  get address(): Address {
    if (this.#context === 0) throw new NativeError('a TLS context was used after it was closed');
    return this.#context;
  }

  /** Releases the context. Existing connections are not affected. */
  [Symbol.dispose](): void {
    const context = this.#context;
    if (context === 0) return;
    this.#context = 0;
    this.library.forgottenContexts.unregister(this);
    this.library.functions.SSL_CTX_free(context);
  }

  #choose({ cipherSuites = CIPHER_SUITES, groups }: QuicTlsChoices): void {
    const { functions } = this.library;
    if (functions.SSL_CTX_set_ciphersuites(this.#context, cipherSuites) !== 1) {
      throw tlsFailure(this.library, `no cipher suites "${cipherSuites}"`);
    }
    if (groups === undefined) return;
    const setGroups = (text: Address): number =>
      functions.SSL_CTX_ctrl(this.#context, SET_GROUPS_LIST, 0, text);
    if (this.library.withText(groups, setGroups) !== 1) {
      throw tlsFailure(this.library, `no key exchange "${groups}"`);
    }
  }

  #control(command: number, value: number): void {
    this.library.functions.SSL_CTX_ctrl(this.#context, command, value, 0);
  }
}
