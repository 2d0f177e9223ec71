import { HttpSniffer } from './http.ts';
import { MORE, type Sniffed, type Sniffer } from './sniffed.ts';
import { TLS_HANDSHAKE, TlsSniffer } from './tls.ts';

/**
 * Finds the domain that the first bytes of a client's stream ask for: the server name of a TLS
 * ClientHello or the host of an HTTP/1 request, lower-cased.
 *
 * The answer depends on the bytes alone, not on how they came, and once done no further byte changes
 * it. Bytes that can be neither protocol are `done` without a name at once.
 */
export class DomainSniffer implements Sniffer {
  #protocol: Sniffer | undefined;

  look(bytes: Uint8Array): Sniffed {
    if (bytes.length === 0) return MORE;
    this.#protocol ??= bytes[0] === TLS_HANDSHAKE ? new TlsSniffer() : new HttpSniffer();
    return this.#protocol.look(bytes);
  }
}

/** The domain in the first bytes of a stream that came in one piece. */
export const sniffDomain = (bytes: Uint8Array): Sniffed => new DomainSniffer().look(bytes);
