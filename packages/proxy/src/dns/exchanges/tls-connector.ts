import type { Endpoint } from '@weir/io/addresses';
import { DialError, toDialError } from '@weir/io';
import type { WireCounter } from '@weir/io/links';
import type { Clock } from '@weir/io/time';
import type { CaSpec } from '../../spec.ts';
import {
  secureClient,
  type SecureClient,
  type SecureConnection,
} from '../../transports/tls/secure-client.ts';

export interface TlsConnectorOptions {
  /** The address that is dialled. */
  readonly server: Endpoint;
  /** The name sent as SNI unless it is an IP address (RFC 6066 §3), and always verified. */
  readonly serverName: string;
  /** Certificates trusted in addition to the system's. */
  readonly ca: CaSpec | undefined;
  readonly clock: Clock;
}

/** Opens TLS connections to one DNS server, which it verifies. */
export class TlsConnector {
  readonly #options: TlsConnectorOptions;
  readonly #alpn: readonly string[];
  #client: SecureClient | undefined;

  /**
   * Creates a connector.
   * @param alpn protocols offered; without any, no ALPN is sent.
   */
  constructor(options: TlsConnectorOptions, alpn: readonly string[]) {
    this.#options = options;
    this.#alpn = alpn;
  }

  /**
   * Connects.
   * @param onWire called with the byte counter of the connection, before the handshake.
   * @throws {DialError} when the server is not reached, or its certificate is invalid.
   */
  async connect(
    signal: AbortSignal,
    onWire?: (wire: WireCounter) => void,
  ): Promise<SecureConnection> {
    const { server, serverName, ca, clock } = this.#options;
    const spec = { serverName, allowInsecure: false, ca };
    const client = (this.#client ??= secureClient(spec, this.#alpn, clock));
    try {
      const below = await client.below.connect(server, { signal });
      onWire?.('wire' in below ? below.wire : below);
      return await client.secure(below, server, signal);
    } catch (error) {
      const isOfServer = error instanceof DialError && error.code === 'upstream';
      throw isOfServer ? toDialError(error.cause, server) : error;
    }
  }
}
