import { type AcceptedConnection, socketCarrier } from '@weir/io/sockets';
import { type Clock, Deadline, abortReason, TLS_HANDSHAKE_MS } from '@weir/io/time';
import type { Carrier } from '@weir/io/links';
import { type AlpnChoice, serverCiphers, SESSION_MARK_BYTES, TICKET_SECONDS } from '@weir/io/tls';
import type { TlsServerSpec } from '../../spec.ts';
import { opensslServer } from './openssl.ts';
import type { Socket } from 'node:net';
import { createServer, DEFAULT_CIPHERS, type Server, type TLSSocket } from 'node:tls';
import { ProtocolError } from '@weir/io';
import { tlsReason } from './tls-reason.ts';

/** A TLS server on Node's TLS: one certificate, TLS 1.2 and 1.3, session resumption by tickets. */
export class NodeServer {
  readonly #server: Server;
  readonly #clock: Clock;
  /** Handshakes in progress by the addresses of both ends. */
  readonly #waiting = new Map<string, PromiseWithResolvers<TLSSocket>>();

  constructor({ certificates, key }: TlsServerSpec, choose: AlpnChoice, clock: Clock) {
    this.#clock = clock;
    // The server never listens: sockets are injected by the `connection` event, which is documented.
    // Unlike the server on OpenSSL Node's cannot acknowledge server names.
    this.#server = createServer({
      cert: certificates,
      key,
      minVersion: 'TLSv1.2',
      ciphers: serverCiphers() ?? DEFAULT_CIPHERS,
      honorCipherOrder: false,
      sessionTimeout: TICKET_SECONDS,
      sessionIdContext: '0'.repeat(SESSION_MARK_BYTES),
      ALPNCallback: ({ protocols }) => choose(protocols),
    });
    this.#server.on('secureConnection', (socket) => {
      // The link that takes over the socket handles errors; an earlier one must not end the process.
      socket.on('error', () => undefined);
      const waiting = this.#waiting.get(connectionOf(socket));
      if (waiting) waiting.resolve(socket);
      else socket.destroy();
    });
    this.#server.on('tlsClientError', (error, socket) => {
      const failure = new ProtocolError(`TLS: ${tlsReason(error)}`, { cause: error });
      this.#waiting.get(connectionOf(socket))?.reject(failure);
      socket.destroy();
    });
  }

  /**
   * Performs the handshake on an accepted socket, which is destroyed if the handshake fails.
   * @throws {WeirError} if the client closes the connection, offers nothing supported, or takes too long.
   */
  async accept(raw: Socket): Promise<TLSSocket> {
    const key = connectionOf(raw);
    const waiting = Promise.withResolvers<TLSSocket>();
    const { reject } = waiting;
    using deadline = new Deadline(this.#clock, TLS_HANDSHAKE_MS, 'the TLS handshake');
    const { signal } = deadline;
    const onClose = (): void =>
      reject(new ProtocolError('TLS: the client closed the connection during the handshake'));
    const onAbort = (): void => reject(abortReason(signal));
    signal.addEventListener('abort', onAbort);
    raw.on('close', onClose);
    this.#waiting.set(key, waiting);
    if (raw.destroyed) onClose();
    else this.#server.emit('connection', raw);
    try {
      return await waiting.promise;
    } catch (error) {
      raw.destroy();
      throw error;
    } finally {
      this.#waiting.delete(key);
      signal.removeEventListener('abort', onAbort);
      raw.off('close', onClose);
    }
  }
}

/**
 * Returns a key of the addresses of both ends: unique among open connections, and equal for a TLS socket and its
 * underlying socket.
 */
const connectionOf = (socket: Socket): string =>
  [socket.localAddress, socket.localPort, socket.remoteAddress, socket.remotePort].join(' ');

/** A TLS server, on OpenSSL or on Node's TLS. */
export interface SecureServer {
  /**
   * Performs the handshake on an accepted connection, which is closed if the handshake fails.
   * @throws {WeirError} if the client closes the connection, offers nothing supported, or takes too long.
   */
  accept(connection: AcceptedConnection): Promise<Carrier>;
}

/**
 * Creates a TLS server on OpenSSL over the kernel's sockets, or on Node's TLS and sockets if that is not available.
 *
 * @throws when the certificate cannot be used.
 */
export function secureServer(spec: TlsServerSpec, choose: AlpnChoice, clock: Clock): SecureServer {
  const direct = opensslServer(spec, choose, clock);
  if (direct) {
    return {
      async accept(connection) {
        const { remote, local } = connection;
        const wire = connection.link();
        return { link: await direct.accept(wire), wire, remote, local };
      },
    };
  }
  const node = new NodeServer(spec, choose, clock);
  return {
    async accept(connection) {
      const raw = connection.socket();
      return socketCarrier(await node.accept(raw), raw, connection);
    },
  };
}
