import { constants } from 'node:crypto';
import { DEFAULT_CIPHERS } from 'node:tls';

/**
 * Properties of a TLS server that a scanner sees besides its certificate: the defaults of nginx, the most common web
 * server on OpenSSL. Node's own are rare, and a mixture of both would be unique: a server with common properties is not
 * recognised by its handshake.
 */

/** The ciphers for TLS 1.2: the default of nginx's ssl_ciphers. */
const NGINX_CIPHERS = 'HIGH:!aNULL:!MD5';

/**
 * Returns the ciphers for TLS 1.2, in OpenSSL's syntax. The order does not matter, since the client's preference counts
 * (nginx's ssl_prefer_server_ciphers is off).
 *
 * @returns `undefined` if Node's command line or environment determines the ciphers.
 */
export const serverCiphers = (): string | undefined =>
  DEFAULT_CIPHERS === constants.defaultCoreCipherList ? NGINX_CIPHERS : undefined;

/** Lifetime of session tickets in seconds, as announced to clients: nginx's ssl_session_timeout. */
export const TICKET_SECONDS = 300;

/**
 * Bytes of the session id context (`SSL_CTX_set_session_id_context`), which tickets contain: that of nginx is a SHA-1.
 * Its content is encrypted, and only the server sees it.
 */
export const SESSION_MARK_BYTES = 20;
