import type { AlpnChoice } from '../../platform/tls/alpn.ts';

/**
 * For carriers other than HTTP/2. A browser or curl uses the chosen protocol with an HTTPS proxy, so
 * HTTP/1.1 is preferred; for a client that offers only others the choice does not matter.
 */
export const preferHttp1: AlpnChoice = (offered) =>
  offered.includes('http/1.1') ? 'http/1.1' : offered[0];

export const onlyHttp2: AlpnChoice = (offered) => (offered.includes('h2') ? 'h2' : undefined);
