import type { AlpnChoice } from '../../platform/tls/alpn.ts';

/**
 * For carriers other than HTTP/2. A browser or curl that uses an HTTPS proxy continues with the protocol
 * that is chosen, so HTTP/1.1 is preferred; a client that does not offer it does not use HTTP.
 */
export const preferHttp1: AlpnChoice = (offered) =>
  offered.includes('http/1.1') ? 'http/1.1' : offered[0];

export const onlyHttp2: AlpnChoice = (offered) => (offered.includes('h2') ? 'h2' : undefined);
