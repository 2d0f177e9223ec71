import type { Duplex } from 'node:stream';
import { shownEndpoint, type Endpoint } from '@weir/io/addresses';
import { ipVersion } from '@weir/base/ip';
import {
  checkServerIdentity,
  connect,
  createSecureContext,
  type ConnectionOptions,
  type SecureContext,
  type TLSSocket,
} from 'node:tls';
import { trustContext } from '@weir/crypto/certificates';
import { type Clock, Deadline, TLS_HANDSHAKE_MS } from '@weir/io/time';
import { abortedDial, DialError, ProtocolError } from '@weir/io';
import type { TlsClientSpec } from '../../spec.ts';
import { tlsReason, withAdvice } from './tls-reason.ts';

/**
 * A TLS client on Node's TLS, for one server: verifies the server and resumes the last session.
 *
 * Loading the trust store takes 15 ms and 1 MB, so it is loaded for the first connection and kept.
 */
export class NodeClient {
  readonly #spec: TlsClientSpec;
  readonly #alpn: readonly string[];
  readonly #clock: Clock;
  #context: SecureContext | undefined;
  #session: Buffer | undefined;

  /** @param alpn protocols to offer (RFC 7301); empty to send no ALPN extension. */
  constructor(spec: TlsClientSpec, alpn: readonly string[], clock: Clock) {
    this.#spec = spec;
    this.#alpn = alpn;
    this.#clock = clock;
  }

  /**
   * Performs the handshake on a connected stream, which is destroyed if the handshake fails.
   * @throws {DialError} `upstream` if the server is not authenticated or the handshake fails.
   */
  async connect(raw: Duplex, server: Endpoint, parent: AbortSignal): Promise<TLSSocket> {
    using deadline = new Deadline(this.#clock, TLS_HANDSHAKE_MS, 'the TLS handshake', parent);
    const { signal } = deadline;
    if (signal.aborted) {
      raw.destroy();
      throw abortedDial(signal, server);
    }
    const socket = connect(this.#options(raw));
    // The link that takes over the socket handles errors; an earlier one must not end the process.
    socket.on('error', () => undefined);
    socket.on('session', (session) => {
      this.#session = session;
    });
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    const refuse = (reason: string, cause: Error): void => {
      const message = `${shownEndpoint(server)}: TLS: ${reason}`;
      reject(new DialError('upstream', message, { cause }));
    };
    const onError = (error: Error): void => {
      // The server may have rejected the session.
      this.#session = undefined;
      refuse(withAdvice(tlsReason(error)), error);
    };
    const onClose = (): void => {
      const closed = new ProtocolError('the server closed the connection during the handshake');
      refuse(closed.message, closed);
    };
    const onAbort = (): void => reject(abortedDial(signal, server));
    socket.on('secureConnect', resolve).on('error', onError).on('close', onClose);
    signal.addEventListener('abort', onAbort);
    try {
      await promise;
      return socket;
    } catch (error) {
      socket.destroy();
      raw.destroy();
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
      socket.off('secureConnect', resolve).off('error', onError).off('close', onClose);
    }
  }

  #options(socket: Duplex): ConnectionOptions {
    const { serverName, allowInsecure } = this.#spec;
    const options: ConnectionOptions = {
      socket,
      secureContext: (this.#context ??= this.#makeContext()),
      minVersion: 'TLSv1.2',
      // Explicit, since NODE_TLS_REJECT_UNAUTHORIZED=0 in the environment changes the default.
      rejectUnauthorized: !allowInsecure,
      // Without SNI Node would verify a different name.
      checkServerIdentity: (_, certificate) => checkServerIdentity(serverName, certificate),
    };
    if (ipVersion(serverName) === 0) options.servername = serverName;
    if (this.#alpn.length > 0) options.ALPNProtocols = [...this.#alpn];
    if (this.#session) options.session = this.#session;
    return options;
  }

  #makeContext(): SecureContext {
    const { allowInsecure, ca } = this.#spec;
    if (allowInsecure) return createSecureContext({ minVersion: 'TLSv1.2' });
    return trustContext(ca?.certificates ?? []);
  }
}
