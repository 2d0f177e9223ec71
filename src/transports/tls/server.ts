import type { Socket } from 'node:net';
import { createSecureContext, TLSSocket, type SecureContext } from 'node:tls';
import type { Clock } from '../../net/clock.ts';
import { Deadline } from '../../net/deadline.ts';
import { ProtocolError } from '../../net/errors.ts';
import { abortReason } from '../../net/read-queue.ts';
import type { TlsServerSpec } from '../../spec.ts';
import { TLS_HANDSHAKE_MS } from '../limits.ts';

/** Picks one of the protocols that a client offers (RFC 7301); `undefined` refuses it. */
export type AlpnChoice = (offered: readonly string[]) => string | undefined;

/**
 * For what is not HTTP/2. A browser or curl that talks to an HTTPS proxy speaks the protocol that is
 * chosen, so HTTP/1.1 goes first; whoever offers something else alone does not mean it as HTTP.
 */
export const preferHttp1: AlpnChoice = (offered) =>
  offered.includes('http/1.1') ? 'http/1.1' : offered[0];

export const onlyHttp2: AlpnChoice = (offered) => (offered.includes('h2') ? 'h2' : undefined);

/** The server side of TLS: one certificate, TLS 1.2 and 1.3, sessions resumed by tickets. */
export class TlsServer {
  readonly #context: SecureContext;
  readonly #choose: AlpnChoice;
  readonly #clock: Clock;

  constructor({ certificates, key }: TlsServerSpec, choose: AlpnChoice, clock: Clock) {
    this.#context = createSecureContext({ cert: certificates, key, minVersion: 'TLSv1.2' });
    this.#choose = choose;
    this.#clock = clock;
  }

  /**
   * Does the handshake on an accepted socket, which is gone when it fails.
   * @throws {WeirError} when the client breaks it off, offers nothing that fits, or takes too long.
   */
  async accept(raw: Socket): Promise<TLSSocket> {
    const socket = new TLSSocket(raw, {
      isServer: true,
      secureContext: this.#context,
      ALPNCallback: ({ protocols }) => this.#choose(protocols),
    });
    // Whoever takes the socket over listens for errors; one in between must not end the process.
    socket.on('error', () => undefined);
    using deadline = new Deadline(this.#clock, TLS_HANDSHAKE_MS, 'the TLS handshake');
    const { signal } = deadline;
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    let failure: Error | undefined;
    const onError = (error: Error): void => {
      failure ??= error;
    };
    const onClose = (): void => {
      const message = `the TLS handshake failed: ${failure?.message ?? 'the client went away'}`;
      reject(new ProtocolError(message, { cause: failure }));
    };
    const onAbort = (): void => {
      reject(abortReason(signal));
      socket.destroy();
    };
    socket.on('secure', resolve).on('_tlsError', onError).on('error', onError).on('close', onClose);
    signal.addEventListener('abort', onAbort);
    try {
      await promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      socket.off('secure', resolve).off('_tlsError', onError);
      socket.off('error', onError).off('close', onClose);
    }
    return socket;
  }
}
