import { sniffHttp } from './http.ts';
import { MORE, type Sniffed } from './sniffed.ts';
import { TLS_HANDSHAKE, sniffTls } from './tls.ts';

/**
 * The domain that the first bytes of a client's stream ask for: the server name of a TLS
 * ClientHello or the host of an HTTP/1 request, lower-cased.
 *
 * Pure: the answer depends on the bytes alone, not on how they came, and once done no further byte
 * changes it. Bytes that can be neither protocol are `done` without a name at once.
 */
export function sniffDomain(bytes: Uint8Array): Sniffed {
  if (bytes.length === 0) return MORE;
  return bytes[0] === TLS_HANDSHAKE ? sniffTls(bytes) : sniffHttp(bytes);
}
