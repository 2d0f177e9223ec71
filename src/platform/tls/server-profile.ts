import { constants } from 'node:crypto';
import { DEFAULT_CIPHERS } from 'node:tls';

/*
 * What a scanner sees of a TLS server besides its certificate: the choices of nginx with its defaults,
 * the most common web server on OpenSSL. Node's own are rare, and a mixture of both would be found
 * nowhere else: a server in whose place another one could stand is not recognised by its handshake.
 */

/** For TLS 1.2: the default of nginx's ssl_ciphers. */
const NGINX_CIPHERS = 'HIGH:!aNULL:!MD5';

/**
 * For TLS 1.2, in OpenSSL's syntax. The order does not matter, since the client's preference counts
 * (nginx's ssl_prefer_server_ciphers is off).
 *
 * @returns `undefined` if Node's command line or environment determines the ciphers.
 */
export const serverCiphers = (): string | undefined =>
  DEFAULT_CIPHERS === constants.defaultCoreCipherList ? NGINX_CIPHERS : undefined;

/** Lifetime of session tickets in seconds, which clients are told: nginx's ssl_session_timeout. */
export const TICKET_SECONDS = 300;

/**
 * Length of the mark of sessions (`SSL_CTX_set_session_id_context`), which is in their tickets: of nginx's
 * a SHA-1. Its content is encrypted, and seen by the server alone.
 */
export const SESSION_MARK_BYTES = 20;
