import { type Endpoint, shownEndpoint } from '@weir/io/addresses';
import { asError } from '@weir/base';
import { abortReason, type Clock, Deadline, TLS_HANDSHAKE_MS, TurnShare } from '@weir/io/time';
import { abortedDial, DialError, ProtocolError } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import {
  type AlpnChoice,
  StreamTls,
  streamTls,
  StreamTlsContext,
  type StreamTlsLibrary,
  TlsCertificateError,
} from '@weir/io/tls';
import { systemSockets } from '@weir/io/sockets';
import { ServerCertificateError } from '@weir/crypto/certificates';
import type { TlsClientSpec, TlsServerSpec } from '../../spec.ts';
import { TlsLink } from './tls-link.ts';
import { tlsReason, withAdvice } from './tls-reason.ts';
import { trustStore } from './trust-store.ts';
import { FLIGHTS_A_TURN } from '../limits.ts';

/** The flights of all clients. */
const dialFlights = new TurnShare(FLIGHTS_A_TURN);

/**
 * A TLS client on OpenSSL over links, for one server: verifies the server as `NodeClient` does, and resumes the last
 * session.
 */
export class OpensslClient {
  readonly #library: StreamTlsLibrary;
  readonly #spec: TlsClientSpec;
  readonly #alpn: readonly string[];
  readonly #clock: Clock;
  #context: StreamTlsContext | undefined;

  /**
   * @param alpn protocols to offer (RFC 7301); empty to send no ALPN extension.
   */
  constructor(
    library: StreamTlsLibrary,
    spec: TlsClientSpec,
    alpn: readonly string[],
    clock: Clock,
  ) {
    this.#library = library;
    this.#spec = spec;
    this.#alpn = alpn;
    this.#clock = clock;
  }

  /**
   * Performs the handshake on a connected link, which is destroyed if the handshake fails.
   * @throws {DialError} `upstream` if the server is not authenticated or the handshake fails.
   */
  async connect(lower: ByteLink, server: Endpoint, parent: AbortSignal): Promise<TlsLink> {
    using deadline = new Deadline(this.#clock, TLS_HANDSHAKE_MS, 'the TLS handshake', parent);
    const { signal } = deadline;
    let tls: StreamTls | undefined;
    try {
      const turn = dialFlights.take();
      if (turn) await turn;
      if (signal.aborted) throw abortedDial(signal, server);
      this.#context ??= this.#makeContext();
      tls = new StreamTls(this.#context, this.#spec.serverName);
      tls.start();
      const link = new TlsLink(lower, tls);
      await link.handshake('server', signal, dialFlights);
      return link;
    } catch (error) {
      // The server may have rejected the session.
      this.#context?.forgetServer();
      tls?.[Symbol.dispose]();
      lower.destroy();
      if (signal.aborted) throw abortedDial(signal, server);
      const message = `${shownEndpoint(server)}: TLS: ${withAdvice(tlsReason(asError(error)))}`;
      throw new DialError('upstream', message, { cause: error });
    }
  }

  #makeContext(): StreamTlsContext {
    const { allowInsecure, ca } = this.#spec;
    const [library, alpn] = [this.#library, this.#alpn];
    if (allowInsecure) return StreamTlsContext.client(library, undefined, alpn);
    using trust = trustStore(library.base, ca?.certificates ?? []);
    return StreamTlsContext.client(library, trust, alpn);
  }
}

/** A TLS server on OpenSSL over links: one certificate, TLS 1.2 and 1.3, session resumption by tickets. */
export class OpensslServer {
  readonly #context: StreamTlsContext;
  readonly #clock: Clock;
  readonly #flights = new TurnShare(FLIGHTS_A_TURN);

  /** @throws {ServerCertificateError} if OpenSSL rejects the certificate or the key. */
  constructor(library: StreamTlsLibrary, spec: TlsServerSpec, choose: AlpnChoice, clock: Clock) {
    this.#clock = clock;
    try {
      this.#context = StreamTlsContext.server(library, spec, choose);
    } catch (error) {
      if (!(error instanceof TlsCertificateError)) throw error;
      throw new ServerCertificateError(error.part, error.message, { cause: error });
    }
  }

  /**
   * Performs the handshake on an accepted link, which is destroyed if the handshake fails.
   * @throws {WeirError} if the client closes the connection, offers nothing supported, or takes too long.
   */
  async accept(lower: ByteLink): Promise<ByteLink> {
    using deadline = new Deadline(this.#clock, TLS_HANDSHAKE_MS, 'the TLS handshake');
    const { signal } = deadline;
    const tls = new StreamTls(this.#context, undefined);
    const link = new TlsLink(lower, tls);
    try {
      await link.handshake('client', signal, this.#flights);
      return link;
    } catch (error) {
      tls[Symbol.dispose]();
      lower.destroy();
      if (signal.aborted) throw abortReason(signal);
      throw new ProtocolError(`TLS: ${tlsReason(asError(error))}`, { cause: error });
    }
  }
}

/** Returns OpenSSL if it can be called and the kernel's sockets are in use; otherwise Node's TLS is used. */
function library(): StreamTlsLibrary | undefined {
  if (systemSockets().kind !== 'kernel') return undefined;
  const probe = streamTls();
  return probe.kind === 'available' ? probe.library : undefined;
}

/** Creates a TLS client on OpenSSL; `undefined` if Node's TLS is to be used. */
export function opensslClient(
  spec: TlsClientSpec,
  alpn: readonly string[],
  clock: Clock,
): OpensslClient | undefined {
  const openssl = library();
  return openssl && new OpensslClient(openssl, spec, alpn, clock);
}

/**
 * Creates a TLS server on OpenSSL; `undefined` if Node's TLS is to be used.
 * @throws {ServerCertificateError} if OpenSSL rejects the certificate or the key.
 */
export function opensslServer(
  spec: TlsServerSpec,
  choose: AlpnChoice,
  clock: Clock,
): OpensslServer | undefined {
  const openssl = library();
  return openssl && new OpensslServer(openssl, spec, choose, clock);
}
