import { type Clock, Deadline, abortReason, TLS_HANDSHAKE_MS, TurnShare } from '@weir/io/time';
import {
  type AlpnChoice,
  streamTls,
  type StreamTlsLibrary,
  StreamTlsContext,
  StreamTls,
  TlsCertificateError,
} from '@weir/io/tls';
import { systemSockets } from '@weir/io/sockets';
import type { TlsClientSpec, TlsServerSpec } from '../../spec.ts';
import { OpensslClient } from './openssl-client.ts';
import { asError } from '@weir/base';
import { ServerCertificateError } from '@weir/crypto/certificates';
import { ProtocolError } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import { FLIGHTS_A_TURN } from '../limits.ts';
import { TlsLink } from './tls-link.ts';
import { tlsReason } from './tls-reason.ts';

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
