import { shownEndpoint, type Endpoint } from '@weir/io/addresses';
import { asError } from '@weir/base';
import { type Clock, Deadline, TLS_HANDSHAKE_MS } from '@weir/io/time';
import { abortedDial, DialError } from '@weir/io';
import type { ByteLink } from '@weir/io/links';
import { StreamTlsContext, type StreamTlsLibrary, StreamTls } from '@weir/io/tls';
import type { TlsClientSpec } from '../../spec.ts';
import { TlsLink } from './tls-link.ts';
import { tlsReason, withAdvice } from './tls-reason.ts';
import { trustStore } from './trust-store.ts';

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
      if (signal.aborted) throw abortedDial(signal, server);
      this.#context ??= this.#makeContext();
      tls = new StreamTls(this.#context, this.#spec.serverName);
      tls.start();
      const link = new TlsLink(lower, tls);
      await link.handshake('server', signal);
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
