import type { AlpnChoice } from '../../platform/tls/alpn.ts';

/**
 * ALPN choices that reject a client which offers none of these protocols with the alert no_application_protocol (RFC
 * 7301 §3.2), as web servers do. A server that accepted protocols which no web server supports could be identified by
 * that.
 */

/** Protocols that nginx accepts without HTTP/2, in its order. */
const HTTP1 = ['http/1.1', 'http/1.0', 'http/0.9'];

const firstOf =
  (accepted: readonly string[]): AlpnChoice =>
  (offered) =>
    accepted.find((protocol) => offered.includes(protocol));

/**
 * Chooses the protocol of carriers without HTTP. A browser or curl uses the chosen protocol with an HTTPS proxy, so
 * HTTP/1.1 is preferred; clients of other proxy protocols, some of which offer only HTTP/2, ignore the choice.
 */
export const preferHttp1 = firstOf([...HTTP1, 'h2']);

/** Chooses the protocol of WebSocket, which is upgraded from HTTP/1.1. */
export const onlyHttp1 = firstOf(HTTP1);

export const onlyHttp2 = firstOf(['h2']);
