import { constants } from 'node:crypto';
import { DEFAULT_CIPHERS } from 'node:tls';
import type { AlpnChoice } from '../quic-tls/quic-tls-library.ts';
import type { Address } from '../quic-tls/quic-tls-functions.ts';
import type { TrustStore } from '../quic-tls/quic-tls-trust.ts';
import {
  newTlsContext,
  offerProtocols,
  serverCiphers,
  SESSION_MARK_BYTES,
  TICKET_SECONDS,
  type TlsCredentials,
  tlsFailure,
  useCredentials,
  verifyBy,
} from './tls-context.ts';
import type { StreamTlsLibrary } from './stream-tls-library.ts';

/** Constants of openssl/ssl.h. */
const SET_MODE = 33;
const RELEASE_BUFFERS = 0x10;
const TLS1_2 = 0x0303;
/** The option `SSL_OP_NO_RENEGOTIATION`, for TLS 1.2. */
const NO_RENEGOTIATION = 0x40000000;
const SET_SESSION_CACHE_MODE = 44;
const SET_SERVER_NAME = 53;
/** The session cache mode of a server that gives sessions of TLS 1.2 without a ticket an ID, but keeps none of them. */
const SESSION_IDS_ALONE = 0x0002 | 0x0300;
const GET_NEGOTIATED_GROUP = 134;
const SET_GROUPS_LIST = 92;

/** X25519MLKEM768 in the form in which SSL_get_negotiated_group(3) returns groups without a NID. */
const HYBRID_GROUP = 0x01_00_11ec;

/**
 * OpenSSL's default groups with a key share (`*`) of the hybrid one only. The default also has one of X25519, whose
 * generation takes an eighth of a client's resumed handshake.
 */
const HYBRID_SHARE =
  '?*X25519MLKEM768 / ?X25519:?secp256r1 / ?X448:?secp384r1:?secp521r1 / ?ffdhe2048:?ffdhe3072';
const DEFAULT_GROUPS = 'DEFAULT';

/**
 * The preferred suite: AES with 128 bits and SHA-256, first in Node's list for TLS 1.2 and in Go's and BoringSSL's for
 * 1.3.
 */
const PREFERRED_SUITE = 'TLS_AES_128_GCM_SHA256';

/** An `SSL_CTX`: the shared settings of all connections of one server, or to one server. */
export class StreamTlsContext {
  readonly library: StreamTlsLibrary;
  readonly isServer: boolean;
  /** Whether a client verifies the server. */
  readonly verifies: boolean;
  readonly #context: Address;
  /** The last session with the server; 0 for none. */
  readonly #session = { address: 0 };
  /** Whether clients send a key share of the hybrid group only, because the server has chosen it before. */
  #hasHybridServer = false;

  private constructor(library: StreamTlsLibrary, isServer: boolean, verifies: boolean) {
    const { functions } = library.base;
    this.library = library;
    this.isServer = isServer;
    this.verifies = verifies;
    this.#context = newTlsContext(library.base, TLS1_2);
    library.base.forgottenContexts.register(this, this.#context);
    library.forgottenSessions.register(this, this.#session);
    functions.SSL_CTX_ctrl(this.#context, SET_MODE, RELEASE_BUFFERS, 0);
    library.functions.SSL_CTX_set_options(this.#context, NO_RENEGOTIATION);
    this.#useDefaultCiphers();
  }

  /**
   * Creates the context of a server. Tickets are sealed with keys of this context, so sessions cannot outlive it.
   * @param choose kept for the lifetime of the process, so it must not be created per context.
   * @throws {TlsCertificateError} when OpenSSL rejects the certificate or the key.
   */
  static server(
    library: StreamTlsLibrary,
    credentials: TlsCredentials,
    choose: AlpnChoice,
  ): StreamTlsContext {
    const context = new StreamTlsContext(library, true, false);
    const { base } = library;
    context.#actAsWebServer();
    useCredentials(base, context.#context, credentials);
    const argument = library.alpnArgument(choose);
    base.functions.SSL_CTX_set_alpn_select_cb(context.#context, library.chooseProtocol, argument);
    return context;
  }

  /**
   * Creates the context of a client.
   *
   * @param trust the trust anchors for the server's certificate; `undefined` accepts any.
   * @param offered protocols (RFC 7301); empty for no ALPN.
   */
  static client(
    library: StreamTlsLibrary,
    trust: TrustStore | undefined,
    offered: readonly string[] = [],
  ): StreamTlsContext {
    const context = new StreamTlsContext(library, false, trust !== undefined);
    if (offered.length > 0) offerProtocols(library.base, context.#context, offered);
    verifyBy(library.base, context.#context, trust);
    return context;
  }

  /** The address of the context, which must be used synchronously. */
  get address(): Address {
    return this.#context;
  }

  /** Makes a connection resume the last session, if any. */
  resume(tls: Address): void {
    const { address } = this.#session;
    if (address !== 0) this.library.functions.SSL_set_session(tls, address);
  }

  /** Keeps the session of a connection. @returns whether the session is new and resumable. */
  keepSession(tls: Address): boolean {
    const { SSL_get1_session, SSL_SESSION_is_resumable, SSL_SESSION_free } = this.library.functions;
    const session = SSL_get1_session(tls);
    if (session === 0) return false;
    if (session === this.#session.address || SSL_SESSION_is_resumable(session) !== 1) {
      SSL_SESSION_free(session);
      return false;
    }
    this.#forgetSession();
    this.#session.address = session;
    return true;
  }

  /** Records the key exchange group of a completed handshake. */
  learnGroup(tls: Address): void {
    const { SSL_ctrl } = this.library.base.functions;
    const isHybrid = SSL_ctrl(tls, GET_NEGOTIATED_GROUP, 0, 0) === HYBRID_GROUP;
    if (isHybrid !== this.#hasHybridServer) this.#offerGroups(isHybrid);
  }

  /** Drops state that a server may have rejected. */
  forgetServer(): void {
    this.#forgetSession();
    if (this.#hasHybridServer) this.#offerGroups(false);
  }

  #offerGroups(isHybrid: boolean): void {
    const { base } = this.library;
    const set = (list: Address): number =>
      base.functions.SSL_CTX_ctrl(this.#context, SET_GROUPS_LIST, 0, list);
    if (base.withText(isHybrid ? HYBRID_SHARE : DEFAULT_GROUPS, set) === 1) {
      this.#hasHybridServer = isHybrid;
    } else {
      // The groups stay unchanged: the list is for another OpenSSL.
      base.functions.ERR_clear_error();
    }
  }

  #forgetSession(): void {
    const { address } = this.#session;
    this.#session.address = 0;
    if (address !== 0) this.library.functions.SSL_SESSION_free(address);
  }

  #actAsWebServer(): void {
    const { base, functions } = this.library;
    const ciphers = serverCiphers();
    if (ciphers && functions.SSL_CTX_set_cipher_list(this.#context, ciphers) !== 1) {
      throw tlsFailure(base, 'no ciphers');
    }
    functions.SSL_CTX_callback_ctrl(this.#context, SET_SERVER_NAME, this.library.acknowledgeName);
    functions.SSL_CTX_set_timeout(this.#context, TICKET_SECONDS);
    const mark = new Uint8Array(SESSION_MARK_BYTES);
    functions.SSL_CTX_set_session_id_context(this.#context, mark, mark.length);
    base.functions.SSL_CTX_ctrl(this.#context, SET_SESSION_CACHE_MODE, SESSION_IDS_ALONE, 0);
  }

  /** Uses the ciphers of Node's TLS, which its command line may change. */
  #useDefaultCiphers(): void {
    const names = DEFAULT_CIPHERS.split(':');
    const suites = suitesOf(names).join(':');
    const list = names.filter((name) => !name.startsWith('TLS_')).join(':');
    const { base, functions } = this.library;
    const taken =
      (suites === '' || base.functions.SSL_CTX_set_ciphersuites(this.#context, suites) === 1) &&
      (list === '' || functions.SSL_CTX_set_cipher_list(this.#context, list) === 1);
    if (!taken) throw tlsFailure(base, 'no ciphers');
  }
}

/** Returns the suites of TLS 1.3 in a list of ciphers: Node's own list with another one first. */
function suitesOf(names: readonly string[]): readonly string[] {
  const suites = names.filter((name) => name.startsWith('TLS_'));
  const isChanged = DEFAULT_CIPHERS !== constants.defaultCoreCipherList;
  if (isChanged || !suites.includes(PREFERRED_SUITE)) return suites;
  return [PREFERRED_SUITE, ...suites.filter((name) => name !== PREFERRED_SUITE)];
}
