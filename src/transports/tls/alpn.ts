import type { AlpnChoice } from '../../platform/tls/alpn.ts';

/*
 * A client that offers none of the protocols here is rejected with the alert no_application_protocol
 * (RFC 7301 §3.2), as by web servers. A server that accepted names that no web server has would be
 * recognised by that.
 */

/** What nginx accepts without HTTP/2, in its order. */
const HTTP1 = ['http/1.1', 'http/1.0', 'http/0.9'];

const firstOf =
  (accepted: readonly string[]): AlpnChoice =>
  (offered) =>
    accepted.find((protocol) => offered.includes(protocol));

/**
 * For carriers without HTTP. A browser or curl uses the chosen protocol with an HTTPS proxy, so
 * HTTP/1.1 is preferred; for clients of other proxy protocols, some of which offer HTTP/2 alone, the
 * choice does not matter.
 */
export const preferHttp1 = firstOf([...HTTP1, 'h2']);

/** For WebSocket, which is upgraded from HTTP/1.1. */
export const onlyHttp1 = firstOf(HTTP1);

export const onlyHttp2 = firstOf(['h2']);
